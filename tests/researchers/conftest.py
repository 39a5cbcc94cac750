from tests.chat_server import chat_server

__all__ = ["chat_server"]
