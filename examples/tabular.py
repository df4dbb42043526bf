"""Tabular data: a scikit-learn classifier that answers on encrypted features.

The tutorial docs/tutorial-tabular.md goes through this program.
"""

from __future__ import annotations

import numpy as np
import palladion
from sklearn.datasets import load_breast_cancer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

x, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(1).permutation(len(x))
x, labels = x[order], np.array(["malignant", "benign"])[y[order]]
x_train, y_train, x_test, y_test = x[:400], labels[:400], x[400:], labels[400:]

network = MLPClassifier(hidden_layer_sizes=(16,), max_iter=1000, random_state=1)
estimator = make_pipeline(StandardScaler(), network).fit(x_train, y_train)

model = palladion.Model.from_sklearn(estimator, calibrate=x_train)
print(model.report())
print(model.evaluate(x_test, y_test))

program = model.compile(batch=8)
print(program.facts)
print(program.costs())

client = program.client()  # has the secret
keys = client.keys()  # public, for the server
answer = program.run(keys, client.encrypt(x_test[:8]))
found = client.decrypt(answer)
print(found)
print("labels   ", y_test[:8])

assert found.classes is not None
assert np.mean(found.classes == y_test[:8]) >= 7 / 8
