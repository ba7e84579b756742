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
from unknot.tasks.agent.networks import Transition, Worth, fit
from unknot.tasks.agent.task import AgentOptions, _values, check
from unknot.tasks.options import Untrained
from unknot.worlds import open_world
from unknot.worlds.scenes.arena import LENGTH, Arenas

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


def test_worth_does_not_depend_on_the_order_of_sprites_and_transitions_are_of_one_sprite():
    torch.manual_seed(0)
    worth, transition = Worth(3), Transition(3)
    codes, actions = torch.randn(5, 4, 3), torch.rand(5, 1, 4)
    torch.testing.assert_close(worth(codes[:, [2, 0, 3, 1]]), worth(codes))
    torch.testing.assert_close(transition(codes, actions)[:, 1:2], transition(codes[:, 1:2], actions))


def test_a_transition_model_learns_who_moves_and_where_it_is_wrong():
    generator = torch.Generator().manual_seed(0)
    codes, actions = torch.randn(4000, 1, generator=generator), torch.rand(4000, 4, generator=generator)
    moved = codes[:, 0] > 0
    after = codes + torch.where(moved, 4 * actions[:, 2] + torch.randn(4000, generator=generator), 0)[:, None]
    torch.manual_seed(0)
    model = Transition(1)
    fit(model, model.loss, [codes, actions, after], 400, generator, often=moved.nonzero()[:, 0])
    doubt, error = model.expected_error(codes, actions), (model(codes, actions) - after)[:, 0].abs()
    noise = (2 / torch.pi) ** 0.5  # the mean size of what nobody can foresee, where a sprite moves
    for sprites in (moved, ~moved):  # what is expected of the error is the error, to a quarter of the noise
        assert abs(doubt[sprites].mean() - error[sprites].mean()) < noise / 4
    assert doubt[moved].mean() > doubt[~moved].mean()
    change = (model(codes, actions) - codes)[:, 0]
    assert torch.corrcoef(torch.stack([change[moved], actions[moved, 2]]))[0, 1] > 0.8


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
