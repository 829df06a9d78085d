"""Jacobians that are wanted by blocks: each residual depends on a few of the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

import tapec
from tests.programs import objectives

_residual = njit(objectives.bundle_residual)
_block = tapec.jacrev(objectives.bundle_residual, wrt=(0, 1, 2))
# of a residual: by its camera, its point and its weight
_CAMERA, _POINT, _ALL = 11, 14, 15


def bundle_residuals(cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any) -> Any:
    """The weighted errors of all observations: (observations, 2)."""
    n = weights.size
    out = np.empty((n, 2))
    for i in range(n):
        out[i] = _residual(cameras[camera_of[i]], points[point_of[i]], weights[i], features[i])
    return out


@njit
def bundle_blocks(cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any) -> Any:
    """The errors, and what is not zero of their Jacobian: (observations, 2, 15)."""
    n = weights.size
    out = np.empty((n, 2))
    blocks = np.empty((n, 2, _ALL))
    for i in range(n):
        camera, point = cameras[camera_of[i]], points[point_of[i]]
        out[i] = _residual(camera, point, weights[i], features[i])
        by_camera, by_point, by_weight = _block(camera, point, weights[i], features[i])
        blocks[i, :, :_CAMERA] = by_camera
        blocks[i, :, _CAMERA:_POINT] = by_point
        blocks[i, :, _POINT] = by_weight
    return out, (blocks,)
