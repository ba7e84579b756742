"""Choose the number of components by MIG, then encode a world with the best pipeline."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

import unknot
from unknot.integrations.sklearn import scorer

world = unknot.open_world("dsprites_rendered")
classes = world.factors.classes(np.random.default_rng(0).integers(0, world.factors.size, 200))
pixels = world.images(classes).reshape(200, -1) / np.float32(255)
search = GridSearchCV(PCA(), {"n_components": [2, 5]}, scoring=scorer("mig"), cv=2)
search.fit(pixels, classes)
print(search.best_params_)
print(unknot.encode(search.best_estimator_, world, rows=100))
