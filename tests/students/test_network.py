"""The student's network and its two losses, by hand."""

import pytest
import torch

from unknot.students.network import VoteNet, vote_losses


def test_votes_have_the_size_of_the_image_whatever_that_is():
    torch.manual_seed(0)
    with torch.no_grad():
        for channels, side in ((3, 32), (1, 64)):
            assert VoteNet(channels)(torch.zeros(2, channels, side, side)).shape == (2, 3, side, side)


def test_true_votes_have_no_error_and_pixels_of_small_objects_count_more():
    owners = torch.zeros(1, 64, 64, dtype=torch.int64)
    owners[0, :10, :10], owners[0, 20:25, 20:25] = 1, 2  # of 100 and 25 pixels
    centres = torch.tensor([[[0.0, 0.0], [4.5, 4.5], [22.0, 22.0]]])
    places = torch.stack(torch.meshgrid(torch.arange(64.0), torch.arange(64.0), indexing="ij"))
    out = torch.zeros(1, 3, 64, 64)
    out[0, 0] = torch.where(owners[0] > 0, 30.0, -30.0)
    out[0, 1:] = (
        centres[0, owners[0]].movedim(-1, 0) - places
    ) / 8  # what it says of the ground counts for nothing
    which, where = vote_losses(out, owners, centres)
    assert float(which) == pytest.approx(0, abs=1e-6) and float(where) == pytest.approx(0, abs=1e-6)
    wrong = out.clone()
    wrong[0, 1:, 20:25, 20:25] += 3
    # 25 pixels of weight 1/5 beside 100 of weight 1/10
    assert float(vote_losses(wrong, owners, centres)[1]) == pytest.approx(3 * 5 / (5 + 10), rel=1e-5)


def test_scenes_without_objects_have_a_loss_too():
    which, where = vote_losses(
        torch.zeros(2, 3, 32, 32), torch.zeros(2, 32, 32, dtype=torch.int64), torch.zeros(2, 4, 2)
    )
    assert float(which) == pytest.approx(0.6931, abs=1e-4) and float(where) == 0
