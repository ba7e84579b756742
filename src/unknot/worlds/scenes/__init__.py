"""Scenes of objects: CLEVR's grammar, its rendering, training sets of scenes and the corpus of object algebra."""
