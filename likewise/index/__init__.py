"""Static codes that answer surrogates: flat (exact, the reference), faiss, and others."""
