"""The client that napari's and others' panels use, as it is installed from PyPI."""

import gc
import warnings

import numpy as np
import pytest

remote = pytest.importorskip(
    "nnInteractive.inference.remote", reason="nninteractive-client is not installed: pip install nninteractive-client"
)


def test_the_real_client_marks_undoes_and_resets(server, scan):
    truth = scan.mask
    with remote.nnInteractiveRemoteInferenceSession(server.address) as session:
        assert session.ping() and session.supports_undo
        session.set_image(scan.image[np.newaxis], {"spacing": np.ones(3)})
        buffer = np.zeros(scan.image.shape, np.uint8)
        session.set_target_buffer(buffer)
        frame, y, x = scan.places[2]
        changed = session.add_point_interaction(np.array([frame, y, x]), True)
        assert buffer[frame, y, x] == 1 and changed is not None
        session.set_do_autozoom(True)
        session.add_scribble_interaction(truth[1:2].astype(np.uint8), True, interaction_bbox=[[1, 2], [0, 48], [0, 40]])
        session.add_bbox_interaction([[3, 4], [0.0, 48.0], [0.0, 40.0]], True)
        session.add_lasso_interaction(truth[4:5].astype(np.uint8), True, interaction_bbox=[[4, 5], [0, 48], [0, 40]])
        assert 2 * (buffer & truth).sum() / (buffer.sum() + truth.sum()) > 0.3
        assert session.undo()
        session.reset_interactions()
        assert not buffer.any() and not session.undo()
        session.add_initial_seg_interaction(truth.astype(np.uint8), run_prediction=True)
        assert 2 * (buffer & truth).sum() / (buffer.sum() + truth.sum()) > 0.9
        assert session.lease_status()["remaining_seconds"] > 0


def test_the_real_client_tells_a_full_server_and_a_session_that_is_gone(server):
    first = remote.nnInteractiveRemoteInferenceSession(server.address)
    server.leases.release(first._lease_token)
    with pytest.raises(remote.SessionExpiredError, match="there is no such session"):
        first.set_target_buffer(np.zeros((1, 1, 1), np.uint8))
    taken = []
    with pytest.raises(remote.ServerAtCapacityError, match="all 3 sessions"):
        for _ in range(4):
            taken.append(remote.nnInteractiveRemoteInferenceSession(server.address))
    for each in (first, *taken):
        each.close()
    with warnings.catch_warnings():  # a client that was refused does not close its socket itself
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
