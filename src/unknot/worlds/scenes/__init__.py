"""Scenes of objects: CLEVR's grammar, its rendering, training sets of scenes and the corpus of object algebra."""

from unknot.worlds.scenes.corpus import ROLES, Corpus, open_corpus
from unknot.worlds.scenes.scene import Scene, SceneObject, read_scene, scene_json

__all__ = ["ROLES", "Corpus", "Scene", "SceneObject", "open_corpus", "read_scene", "scene_json"]
