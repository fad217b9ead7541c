"""The sweeper: deletes what has expired, every so many minutes, once it is asked to.

Nothing depends on it, since what has expired is invisible at once; it frees the space.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future

from langgraph_fabric.errors import FabricError, MemoryValidationError

_MINUTES = 5.0
"""Between two sweeps unless configured, as in LangGraph's own stores."""


class Sweeper:
    """One thread at most, which sweeps until it is stopped."""

    def __init__(self, sweep: Callable[[], object]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._running: tuple[threading.Thread, threading.Event, Future[None]] | None = None

    def start(self, minutes: float | None) -> Future[None]:
        """Begin to sweep, unless it does already; the future ends when the sweeper does.

        Raises:
            MemoryValidationError: The minutes are no positive number.
        """
        minutes = _MINUTES if minutes is None else minutes
        if not 0 < minutes < threading.TIMEOUT_MAX / 60:
            raise MemoryValidationError("sweep_interval_minutes", "not positive", "Give minutes")
        with self._lock:
            if self._running is None or not self._running[0].is_alive():
                stop, ended = threading.Event(), Future[None]()
                ended.add_done_callback(lambda _: stop.set())  # cancelling it is stopping
                thread = threading.Thread(
                    target=self._run, args=(minutes, stop, ended), name="ttl-sweeper", daemon=True
                )
                self._running = (thread, stop, ended)
                thread.start()
            return self._running[2]

    def stop(self, timeout: float | None = None) -> bool:
        """End the sweeping; False if it has not ended within `timeout` seconds."""
        with self._lock:
            running = self._running
        if running is None:
            return True
        thread, stop, _ = running
        stop.set()
        if thread is not threading.current_thread():
            thread.join(timeout)
        return not thread.is_alive()

    def _run(self, minutes: float, stop: threading.Event, ended: Future[None]) -> None:
        while not stop.wait(minutes * 60):
            try:
                self._sweep()
            except FabricError:
                continue  # another process may hold the store for long; there is a next time
            except BaseException as exc:  # noqa: BLE001 - told by the future
                if not ended.cancelled():
                    ended.set_exception(exc)
                return
        if not ended.cancelled():
            ended.set_result(None)
