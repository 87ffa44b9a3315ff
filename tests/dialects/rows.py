"""All rows of lines/."""
import importlib
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def all_rows():
    found = []
    for name in sorted(os.listdir(f"{HERE}/lines")):
        if name.endswith(".py"):
            found += importlib.import_module(f"lines.{name[:-3]}").ROWS
    return found
