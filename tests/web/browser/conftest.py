"""A server in a process of its own, a real Chromium, and what may not happen in it."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from fewpoint.errors import FewpointError
from fewpoint.evaluation.phantom import Phantom, make_phantom
from fewpoint.web.own_server import find_chromium
from synthetic import save_frames, save_settings
from tiny_runs import TINY

SCREEN = {"width": 1280, "height": 720}
PATIENCE_MS = 240_000  # of a machine on which ten others work, too
HELD = str(Path(__file__).with_name("annotate_held.py"))
SHOTS = "FEWPOINT_SCREENSHOTS"  # a folder; without it screenshots are kept only as long as the test's own files

# Violations of the content security policy are told to the page and to nobody else.
TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`content security policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""
# Notices, and what screen readers are told, go away by themselves, perhaps before a test looks.
KEEP_WORDS = """
window.words = [];
new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes) {
    const isSaid = (node) => target.id === "live" || (node instanceof Element && node.matches(".notice"));
    window.words.push(...[...addedNodes].filter(isSaid).map((node) => node.textContent));
  }
}).observe(document, { childList: true, subtree: true });
"""
# Whether nothing is on its way to the planes that are seen, and nothing left to be drawn on them.
IS_SETTLED = """async () => {
  const { stages } = await import("/static/main.js");
  const { masks, heats } = stages[0].masks;
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const isDrawn = stages.every((stage) => !stage.scheduled && (stage.ready || !stage.isShown));
    if (!isDrawn || [masks, heats].some(({ waiting, coming }) => waiting.size + coming.size > 0)) return false;
  }
  return true;
}"""
# From now on, whether an expression of the state has ever been true, be it for a moment.
WATCH = """async () => {
  const { get, watch } = await import("/static/store.js");
  const seen = (window.seen ??= {});
  watch(Object.keys(get()), (state) => {
    seen[NAME] ||= Boolean(EXPRESSION);
  });
}"""


@dataclass
class Server:
    """`fewpoint annotate` on a folder, at a port that stays the same over a restart."""

    root: Path
    arguments: tuple[str, ...] = ()
    program: tuple[str, ...] = ("-m", "fewpoint")
    process: subprocess.Popen | None = None
    port: int = field(init=False)

    def __post_init__(self) -> None:
        self._held = hold_port()
        self.port = self._held.getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        options = ("--root", str(self.root), "--port", str(self.port), "--no-browser", "--no-token", "--device", "cpu")
        command = [sys.executable, *self.program, "annotate", *self.arguments, *options]
        with open(self.root.parent / f"server-{self.port}.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.root)
        wait_until(lambda: self.process.poll() is not None or self._answers(), "the server to answer")
        assert self.process.poll() is None, (self.root.parent / f"server-{self.port}.log").read_text()

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()

    def close(self) -> None:
        self.kill(signal.SIGTERM)
        self._held.close()

    @contextmanager
    def holding_runs(self) -> Iterator[None]:
        """Runs go on but do not end, unless they are stopped; where the program is that of hold_runs."""
        hold = find_hold(self.root)
        hold.touch()
        try:
            yield
        finally:
            hold.unlink()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@dataclass
class Visitor:
    """A page, with all that went wrong on it and all that it asked for.

    answers: address and type. came: addresses of those that came to their end, for the page may change its mind.
    """

    page: object
    server: Server
    shots: Path
    complaints: list[str] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    came: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    count: int = 0

    def listen(self) -> None:
        page = self.page
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("response", lambda answer: self.answers.append((answer.url, answer.headers.get("content-type", ""))))
        page.on("requestfinished", lambda request: self.came.append(request.url))
        page.on("websocket", lambda each: each.on("framereceived", lambda text: self.told.append(str(text))))

    def state(self, expression: str):
        """What the page knows: an expression of `state`, as src/fewpoint/web/static/store.js describes it."""
        return self.page.evaluate(
            f"import('/static/store.js').then(({{ get }}) => {{ const state = get(); return {expression}; }})"
        )

    def expect(self, expression: str) -> None:
        """Wait until an expression of the state is true."""
        self.wait_until(lambda: self.state(expression), expression)

    def wait_until(self, holds: Callable[[], object], what: str) -> None:
        # Playwright hears of events only while it is itself waiting.
        wait_until(holds, what, pause=self.page.wait_for_timeout)

    def settle(self) -> None:
        """Wait until all that belongs on the planes now is drawn."""
        self.wait_until(lambda: self.page.evaluate(IS_SETTLED), "the pictures to be drawn")

    def watch_for(self, expression: str) -> Callable[[], None]:
        """Begin to watch the state; what is returned waits until the expression has been true, be it for a moment."""
        named = json.dumps(expression)
        self.page.evaluate(WATCH.replace("NAME", named).replace("EXPRESSION", expression))
        return lambda: self.wait_until(lambda: self.page.evaluate(f"window.seen[{named}]"), expression)

    def expect_words(self, text: str) -> None:
        """Wait until the page has said something, be it gone again."""
        said = f"window.words.some((each) => each.includes({json.dumps(text)}))"
        self.wait_until(lambda: self.page.evaluate(said), text)

    def open(self, *names: str) -> None:
        """Go through folders of the server to an input and open it."""
        for place in range(1, len(names) + 1):
            self.page.locator("#files").get_by_role("button", name=names[place - 1]).first.click()
            if place < len(names):  # the folder before may hold something of the same name
                self.page.locator("#path").get_by_role("button", name=names[place - 1]).wait_for()
        self.expect(f"state.project?.input === {json.dumps('/'.join(names))}")

    def see_frame(self, frame: int) -> None:
        self.page.wait_for_selector(f'#stage[data-frame="{frame}"]')

    def go_to(self, frame: int) -> None:
        self.page.locator("#slider").fill(str(frame))
        self.see_frame(frame)

    def place(self, y: float, x: float) -> tuple[float, float]:
        """Where the middle of a pixel of the large plane lies on the screen."""
        return self.place_in(0, y, x)

    def place_in(self, order: int, y: float, x: float) -> tuple[float, float]:
        """Where the middle of a pixel of a plane lies on the screen; order: 0 for the large one."""
        return tuple(
            self.page.evaluate(
                """async ([order, y, x, patience]) => {
                  const stage = (await import("/static/main.js")).stages[order];
                  const measure = () => {
                    const bounds = stage.canvas.getBoundingClientRect();
                    const centre = stage.centreOf({ y, x });
                    return [bounds.left + centre.x, bounds.top + centre.y];
                  };
                  // A person aims at a picture that is there and stands still.
                  const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
                  const end = performance.now() + patience;
                  for (let still = 0, last = measure(); still < 3;) {
                    if (performance.now() > end) throw new Error("the picture does not come, or does not stand still");
                    await next();
                    const now = measure();
                    still = stage.ready && now.every((each, index) => each === last[index]) ? still + 1 : 0;
                    last = now;
                  }
                  return measure();
                }""",
                [order, y, x, PATIENCE_MS],
            )
        )

    def click(self, y: float, x: float, *keys: str) -> None:
        self.page.mouse.move(*self.place(y, x))
        for key in keys:
            self.page.keyboard.down(key)
        self.page.mouse.click(*self.place(y, x))
        for key in keys:
            self.page.keyboard.up(key)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*self.place(*start))
        self.page.mouse.down()
        self.page.mouse.move(*self.place(*end), steps=4)
        self.page.mouse.up()

    def colour_at(self, y: int, x: int) -> list[int]:
        """Red, green and blue of the canvas at the middle of a pixel."""
        left, top = self.place(y, x)
        return self.page.evaluate(
            """([left, top]) => {
              const canvas = document.getElementById("stage");
              const bounds = canvas.getBoundingClientRect();
              const ratio = canvas.width / bounds.width;
              const at = [Math.round((left - bounds.left) * ratio), Math.round((top - bounds.top) * ratio), 1, 1];
              return [...canvas.getContext("2d").getImageData(...at).data.slice(0, 3)];
            }""",
            [left, top],
        )

    def shoot(self, name: str) -> None:
        """Keep what is seen now as a file."""
        self.count += 1
        self.page.screenshot(path=self.shots / f"{self.count:02d}-{name}.png")


def wait_until(holds: Callable[[], object], what: str, pause: Callable[[float], object] | None = None) -> None:
    end = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        (pause or (lambda milliseconds: time.sleep(milliseconds / 1000)))(50)


def find_hold(root: Path) -> Path:
    return root.with_name("hold")


def hold_runs(root: Path) -> tuple[str, str]:
    """The program of a server whose runs can be held."""
    return HELD, str(find_hold(root))


def hold_port() -> socket.socket:
    """A free port that nobody else is given until it is closed; where Linux lets a server listen there all the same."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def name_folder(request: pytest.FixtureRequest) -> str:
    """A name for files of a test alone, the same in every process."""
    return hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]


@pytest.fixture(scope="session")
def chromium():
    try:
        executable = find_chromium()
    except FewpointError as error:
        pytest.skip(str(error))
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; pip install '.[test]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def phantom() -> Phantom:
    return make_phantom(8, (48, 48), seed=0)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> tuple[str, str]:
    """Options for a run of a few seconds."""
    return ("--config", str(save_settings(TINY, tmp_path_factory.mktemp("settings") / "tiny.toml")))


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(root: Path, *arguments: str, **others) -> Server:
        servers.append(Server(root, arguments, **others))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory, phantom) -> Iterator[Server]:
    """A server with a phantom as frames and as a volume, for tests that do not run or stop anything."""
    import nibabel

    root = tmp_path_factory.mktemp("shared") / "root"
    save_frames(phantom.sequence.frames, root / "frames")
    voxels = phantom.sequence.frames[..., 0].transpose(2, 1, 0).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(voxels, np.diag([0.8, 0.8, 3.0, 1.0])), root / "volume.nii.gz")
    server = Server(root, ("--no-live",))
    server.start()
    yield server
    server.close()


@pytest.fixture
def visit(chromium, serve, request, tmp_path) -> Iterator[Callable[..., Visitor]]:
    """Open pages; afterwards nothing may have gone wrong on any of them. They are closed before a server is."""
    folder = os.environ.get(SHOTS)
    shots = Path(folder).absolute() / request.node.name if folder else tmp_path / "screenshots"
    shots.mkdir(parents=True, exist_ok=True)
    visitors: list[Visitor] = []

    @contextmanager
    def closing() -> Iterator[Callable[..., Visitor]]:
        def visit(server: Server, path: str = "", **options) -> Visitor:
            context = chromium.new_context(viewport=SCREEN, **options)
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script(TELL_VIOLATIONS)
            context.add_init_script(KEEP_WORDS)
            visitor = Visitor(context.new_page(), server, shots)
            visitor.listen()
            visitor.page.goto(server.address + path)
            visitors.append(visitor)
            return visitor

        try:
            yield visit
        finally:
            for visitor in visitors:
                visitor.page.context.close()

    with closing() as visit:
        yield visit
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []
