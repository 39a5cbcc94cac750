"""Part of the shared judge: detects candidate code that could change the verdict, in its text and at run time."""
