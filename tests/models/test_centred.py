"""Networks that look at one object in a frame of its own."""

import pytest
import torch

from unknot.errors import UnknotError
from unknot.models._centred import REACH, SPREAD, UNITS, measured, moved
from unknot.models.model import Setting
from unknot.models.networks import Decoder, Encoder, initialise
from unknot.worlds.rendered.dsprites_rendered import render_sprites

SETTING = Setting(pixels=32, latents=6, architecture="centred")


def sprite(shape=0, scale=1.0, orientation=0.0, x=0.5, y=0.5):
    images = render_sprites(shape, scale, orientation, x, y)
    return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255


def drawn(part):
    initialise(part, "glorot", torch.Generator().manual_seed(0))
    return part


def test_measures_of_a_square_are_those_of_geometry():
    x, y, spread = (float(number) for number in measured(sprite(x=0.75, y=0.25)))
    assert (x, y) == pytest.approx((0.25, -0.25), abs=0.02)
    assert spread == pytest.approx(20 / 32 / 6**0.5, rel=0.02)  # a side of 20 pixels, in halves of 64


def test_measures_do_not_know_the_colours_of_object_and_ground():
    black, white = torch.tensor([0.0, 0.2, 0.4])[:, None, None], torch.tensor([0.9, 0.2, 0.6])[:, None, None]
    mask = sprite(2, 0.7, 0.4, 0.1, 0.9)
    for got, plain in zip(measured(mask * white + (1 - mask) * black), measured(mask), strict=True):
        torch.testing.assert_close(got, plain, rtol=1e-3, atol=1e-3)


def test_an_empty_picture_has_finite_measures_and_a_finite_code():
    empty = torch.zeros(1, 1, 32, 32)
    assert all(bool(number.isfinite().all()) for number in measured(empty))
    assert bool(drawn(Encoder(SETTING))(empty).mean.isfinite().all())


def test_an_object_looks_the_same_in_its_frame_wherever_it_is():
    frames = []
    for x, y in ((0.0, 0.0), (0.5, 0.25), (1.0, 0.75)):  # whole pixels
        image = sprite(2, 0.8, 0.7, x, y)
        x_, y_, spread = measured(image)
        frames.append(moved(image, REACH * spread, x_, y_, 32))
    torch.testing.assert_close(frames[1], frames[0], rtol=0, atol=1e-3)
    torch.testing.assert_close(frames[2], frames[0], rtol=0, atol=1e-3)
    assert float(frames[0].sum()) > 100


def test_the_first_two_latents_move_and_the_third_zooms():
    decoder = drawn(Decoder(SETTING))
    z = torch.zeros(4, 6)
    z[:, 3:] = torch.randn(3, generator=torch.Generator().manual_seed(1))
    step = 2 / 32 / UNITS[0]  # one pixel
    z[1, 0], z[2, 1], z[3, 2] = 3 * step, -2 * step, torch.log(torch.tensor(2.0)) / UNITS[2]
    plain, right, up, larger = decoder(z).detach()[:, 0]
    torch.testing.assert_close(right[:, 3:], plain[:, :-3], rtol=0, atol=1e-4)
    torch.testing.assert_close(up[:-2], plain[2:], rtol=0, atol=1e-4)
    changed = [(picture - picture[0, 0]).abs().gt(1e-6).float().mean() for picture in (plain, larger)]
    assert changed[1] / changed[0] == pytest.approx(4, rel=0.15)
    assert changed[0] == pytest.approx((REACH * SPREAD) ** 2, rel=0.25)  # edges are smooth


def test_a_code_needs_a_latent_beside_place_and_size():
    with pytest.raises(UnknotError, match="centred: 3 latents; three say where") as caught:
        Decoder(Setting(pixels=32, latents=3, architecture="centred"))
    assert caught.value.field == ("latents",)
