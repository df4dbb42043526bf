"""Slightly changed images, so that a network never sees the same image twice."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def augment(
    images: jax.Array, blank: jax.Array, key: jax.Array, *, shift: int, flip: bool
) -> jax.Array:
    """Images of shape (N, C, H, W) moved by up to ``shift`` rows and columns. With ``flip``, half
    of them are mirrored left to right. ``blank``, one number per channel, fills the sides.
    """
    count = len(images)
    if shift:
        pads = ((0, 0), (0, 0), (shift, shift), (shift, shift))
        around = blank[None, :, None, None]
        wide = jnp.pad(images - around, pads)
        starts = jax.random.randint(jax.random.fold_in(key, 0), (count, 2), 0, 2 * shift + 1)

        def cut(image: jax.Array, start: jax.Array) -> jax.Array:
            return jax.lax.dynamic_slice(image, (0, start[0], start[1]), images.shape[1:])

        images = jax.vmap(cut)(wide, starts) + around
    if flip:
        chosen = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.5, (count, 1, 1, 1))
        images = jnp.where(chosen, images[..., ::-1], images)
    return images
