"""Files into the store: scan, decode and describe in child processes, commit in batches."""

UNREACHABLE = "unreachable"
"""Setting: what the last scan could not reach."""
LOCAL = "local"
"""Block of local features, what visual words are made of."""
HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
"""What stands behind ``ftyp`` in a HEIC file."""
