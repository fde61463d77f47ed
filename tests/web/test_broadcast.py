"""Events reach programs of the same process, too."""

from fewpoint.web.broadcast import Broadcast
from fewpoint.web.messages import PreviewEvent


def test_who_subscribes_is_told_until_they_leave_and_counts_as_somebody_who_listens():
    broadcast, heard = Broadcast(), []
    leave = broadcast.subscribe(heard.append)
    assert broadcast.is_heard
    broadcast.tell(PreviewEvent(run=1))
    leave()
    leave()
    broadcast.tell(PreviewEvent(run=2))
    assert [event.run for event in heard] == [1] and not broadcast.is_heard
