#!/usr/bin/env python3
"""PTX files as arrays of C++. Usage: embed.py OUTPUT PTX..."""
import pathlib
import sys

def literal(text):
    lines = []
    for line in text.splitlines():
        line = line.split("//")[0].strip()
        if line:
            lines.append(line.replace("\\", "\\\\").replace('"', '\\"') + "\\n")
    return "\n".join(f'    "{line}"' for line in lines)

def main():
    output, *sources = map(pathlib.Path, sys.argv[1:])
    parts = ['#include "device/cuda/ptx.h"', "namespace tutti::device::cuda {"]
    for source in sources:
        name = f"kPtx{source.stem.capitalize()}"
        parts += [f"extern const char {name}[];", f"const char {name}[] =", literal(source.read_text()) + ";"]
    output.write_text("\n".join([*parts, "}  // namespace tutti::device::cuda", ""]))

main()
