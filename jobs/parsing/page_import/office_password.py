"""Open Office files that are protected by a password, in memory, through msoffcrypto.

The OOXML kinds lie encrypted in an OLE container; a workbook of Excel 97-2003 is so in place.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path

import msoffcrypto
from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError

from jobs.parsing.errors import ParseError as Refused
from jobs.parsing.page_import.document import open_content

_DAMAGE = (DecryptionError, FileFormatError, ParseError, OSError, ValueError, KeyError)


def opened(content: Path | bytes, password: str) -> Path | bytes:
    """Return the file without its protection, or as it is when it has none.

    Raises jobs.parsing's ParseError: password_wrong, file_encrypted.
    """
    plain = io.BytesIO()
    try:
        with open_content(content) as stream:
            office = msoffcrypto.OfficeFile(stream)
            if not office.is_encrypted():
                return content
            office.load_key(password=password, verify_password=True)
            office.decrypt(plain)
    except InvalidKeyError as error:
        raise Refused("password_wrong", "The Office file does not open with this password.") from (
            error
        )
    except (*_DAMAGE, struct.error, IndexError, AttributeError, TypeError) as error:
        message = "The Office file is protected in a way that is not known, or is damaged."
        raise Refused("file_encrypted", message) from error
    return plain.getvalue()
