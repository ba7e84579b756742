"""The agent: what it learns from true and from useless codes, and mistakes that only it can name."""

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

import unknot
from unknot import RunSpec, UnknotError
from unknot.tasks.agent.agent import Agent, Scenes
from unknot.tasks.agent.networks import LOOKS, Touch, Worth, fit
from unknot.tasks.agent.task import AgentOptions, _values, check
from unknot.tasks.options import Untrained
from unknot.worlds import open_world
from unknot.worlds.scenes.arena import LENGTH, REACH, Arenas

TINY = {"initialisations": 1, "exploration": 1, "rounds": 2, "episodes": 2, "steps": 5, "size": 16}


def test_codes_are_read_again_only_when_a_sprite_is_pushed():
    arenas, seen = Arenas(2, np.random.default_rng(0)), []

    def encode(arenas: Arenas, rows: np.ndarray, sprites: np.ndarray) -> np.ndarray:
        seen.append(list(zip(rows.tolist(), sprites.tolist(), strict=True)))
        return arenas.factors(rows, sprites)

    scenes = Scenes(arenas, encode)
    arenas.poses[:, :, :2] = [[0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2]]
    before = scenes.step(torch.tensor([[0.8, 0.8, 0.0, 0.5], [0.5, 0.5, 0.0, 0.5]]))
    assert seen == [[(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)], [(0, 1)]]
    assert (before != scenes.codes).any(2).nonzero().tolist() == [[0, 1]]
    assert scenes.codes[0, 1, :2].tolist() == pytest.approx([0.675, 0.8])


def bent(arenas: Arenas, rows: np.ndarray, sprites: np.ndarray) -> np.ndarray:
    """A code in which places are a curved sheet through several numbers, which colours turn as well."""
    factors = arenas.factors(rows, sprites)
    mixed = np.concatenate([3 * factors[:, :2] - 1.5, factors[:, 2:4]], axis=1)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    turned = mixed @ rotation
    return np.concatenate([np.sin(2 * turned), np.cos(turned)], axis=1)


def test_worth_does_not_depend_on_the_order_of_sprites_and_pushes_move_those_that_they_hit():
    torch.manual_seed(0)
    worth, touch = Worth(), Touch(3)
    sprites = torch.rand(5, 4, 2 + LOOKS)
    torch.testing.assert_close(worth(sprites[:, [2, 0, 3, 1]]), worth(sprites))
    sprites[:, 0, :2], sprites[:, 1:, :2] = 0.2, 0.8
    after = touch.pushed(sprites, torch.tensor([0.2, 0.2, 1.0, 0.5]))
    assert (after[:, 0, 0] > 0.22).all() and (after[:, 0, 1] == 0.2).all()
    torch.testing.assert_close(after[:, 1:], sprites[:, 1:])
    torch.testing.assert_close(after[..., 2:], sprites[..., 2:])


def test_an_agent_finds_by_touch_where_sprites_are_in_a_code_that_is_rotated_and_bent():
    agent = Agent(bent, [0], size=16, steps=150)
    list(agent.explore(3, 128))
    arenas = Arenas(200, np.random.default_rng(1))
    felt = agent.felt(Scenes(arenas, bent).codes).numpy()
    far = np.linalg.norm(felt[..., :2] - arenas.poses[..., :2], axis=-1)
    assert np.median(far) < 0.04  # sprites are 0.13 wide
    assert abs(agent.touch.reach.item() - REACH) < 0.05
    looks, colour = felt[..., 2:].reshape(800, -1), arenas.kinds.reshape(-1)
    nearest = np.linalg.norm(looks[400:, None] - looks[None, :400], axis=2).argmin(1)
    assert (colour[:400][nearest] == colour[400:]).mean() > 0.9


def test_rewards_are_learned_from_places_and_looks_and_foretold_for_other_scenes():
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)

    def scenes(n: int) -> list[torch.Tensor]:
        arenas = Arenas(n, rng)
        looks = rng.normal(0, 0.3, (n, 4, LOOKS))
        looks[..., 0] += 2 * arenas.kinds - 1
        sprites = np.concatenate([arenas.poses[..., :2], looks], axis=2)
        return [torch.tensor(sprites, dtype=torch.float32), torch.tensor(arenas.reward, dtype=torch.float32)]

    torch.manual_seed(0)
    worth = Worth()
    fit(worth, worth.loss, [scenes(2000)], 300, generator)
    sprites, rewards = scenes(1000)
    target = rewards.sign() * rewards.abs().log1p()
    assert 1 - worth.loss(sprites, rewards) / target.var() > 0.6


def test_an_agent_is_the_same_for_the_same_seed_and_counts_the_steps_it_has_learned_from():
    def learned(seed: int) -> tuple[list[float], list[tuple[int, float, float]]]:
        agent = Agent(Arenas.factors, [seed], size=16, steps=8)
        return list(agent.explore(2, 16)), [(r.steps, r.success, r.length) for r in agent.play(2, 2)]

    losses, rounds = learned(0)
    assert (losses, rounds) == learned(0)
    assert rounds[0][0] == 0 and rounds[1][0] == 2 * rounds[0][2]


def test_a_result_has_curves_and_inputs_without_a_source(tmp_path):
    results = [unknot.agent(input=which, folder=tmp_path, **TINY) for which in ("factors", "shuffled")]
    assert [result.source for result in results] == ["true factors", "shuffled code"]
    for result in results:
        assert set(result.values) == {"success", "reached_90", "steps_to_90", "area"}
        assert result.tables["curve"][0]["steps"] == 0
    with pytest.raises(UnknotError, match="agent: expected no source with these options"):
        unknot.agent(lambda images: images.reshape(len(images), -1), input="factors", **TINY)


def test_a_solved_episode_is_a_film(monkeypatch):
    monkeypatch.setattr("unknot.worlds.scenes.arena.SOLVED", 0.5)  # which chance soon reaches
    monkeypatch.setattr("unknot.tasks.agent.task.GOAL", 0.0)
    result = unknot.agent(input="factors", **TINY | {"episodes": 16})
    assert len(result.tables["curve"]) == 1 and result.values["reached_90"] == 1
    (picture,) = result.tables["pictures"]
    film = Image.open(io.BytesIO(base64.b64decode(picture["gif"])))
    assert film.format == "GIF" and film.n_frames > 1


def test_a_film_shows_every_step_of_an_episode_up_to_its_success(monkeypatch):
    monkeypatch.setattr("unknot.worlds.scenes.arena.SOLVED", 0.5)
    agent = Agent(Arenas.factors, [0], size=16, steps=2)
    list(agent.explore(1, 8))
    (played,) = agent.play(1, 16)
    assert played.success > 0 and 2 <= len(played.film) <= LENGTH + 1
    moved = (played.film[1:] != played.film[:-1]).any((1, 2, 3))
    assert moved[-1]  # a scene is solved by a push


def test_a_run_that_cannot_see_the_pictures_is_refused_before_it_is_trained():
    world = open_world("dsprites_rendered")
    run = Untrained(RunSpec(world="dsprites_rendered"), world, world, "dsprites_rendered")
    with pytest.raises(UnknotError, match="64 x 64 x 3"):
        check(run, AgentOptions())
    with pytest.raises(UnknotError, match="input is 'factors'; expected representation"):
        check(run, AgentOptions(input="factors"))


def test_a_run_without_colour_is_refused_with_a_world_to_train_on(tmp_path):
    from unknot.runs.training import train

    run = train(
        RunSpec(world="dsprites_rendered", model="vae", steps=1, architecture="slim", image_size=32), tmp_path
    )
    with pytest.raises(UnknotError, match=r"1 channel\(s\) \(dsprites_rendered\).* trained on arena_rendered"):
        unknot.agent(run.folder, **TINY)


def test_the_area_counts_rounds_after_a_success_as_the_last():
    rows = [(0, 0, 0.0), (0, 50, 0.5), (0, 90, 1.0), (1, 0, 0.0), (1, 60, 0.0), (1, 120, 0.2), (1, 180, 0.6)]
    curve = [{"initialisation": i, "steps": steps, "success": success} for i, steps, success in rows]
    values = _values(curve, AgentOptions(initialisations=2, rounds=4))
    assert values == pytest.approx(
        {"success": 0.8, "reached_90": 0.5, "steps_to_90": 135, "area": (2.5 + 0.8) / 8}
    )
