"""Picture to vector: colour, texture, shape, gist, deep, words; and text to sparse vector."""
