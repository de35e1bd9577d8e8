RANGES: dict[str, tuple[float, float]] = {}
