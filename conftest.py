"""The project's own tests run the plugin in sessions of their own."""

pytest_plugins = ["pytester"]
