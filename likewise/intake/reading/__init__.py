"""What a file holds: sniffed, decoded, RAW by its preview; and what it says of itself."""
