"""Writes ../nfc.txt: what normalization form C needs of the Unicode database.

Run it in this folder with any Python 3; the Unicode version is Python's own.
"""

import sys
import unicodedata

with open("../nfc.txt", "w", encoding="ascii", newline="\n") as out:
    for point in range(sys.maxunicode + 1):
        char = chr(point)
        if unicodedata.combining(char):
            print(f"{point:X} {unicodedata.combining(char)}", file=out)
        parts = unicodedata.decomposition(char)
        if parts and not parts.startswith("<"):
            kept = unicodedata.normalize("NFC", char) == char
            print(f"{point:X}{'=' if kept else '>'}{parts}", file=out)
