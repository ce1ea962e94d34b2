"""TensorBoard's server in this process, without TensorFlow and without messages on stderr."""

import contextlib
import io
import logging
import os
from pathlib import Path
from typing import Any

from tensorboard import default, program
from tensorboard.backend.http_util import Respond
from tensorboard.plugins.projector import projector_plugin
from tensorboard.plugins.projector.metadata import PROJECTOR_FILENAME
from tensorboard.plugins.projector.projector_plugin import LRUCache, ProjectorPlugin
from werkzeug.wrappers import Request

from gensim_tfw2v.monitor.events import do_without_tensorflow
from gensim_tfw2v.processes.connections import port_user

#: Maximum time in seconds that the first page waits until TensorBoard has searched for vectors.
SEARCH_SECONDS = 5.0

#: Maximum number of attempts to listen on a free port.
MAX_ATTEMPTS = 5

#: File name of the script of the projector's page.
SCRIPT = "projector_binary.js"

#: JavaScript code that is appended to the script of the page. When the page shows vectors, the code
#: loads their first bookmark.
BOOKMARK_SCRIPT = """
let opened = null;
const inside = root => [...root.querySelectorAll('*')].flatMap(
  each => [each, ...(each.shadowRoot ? inside(each.shadowRoot) : [])]);
setInterval(() => {
  const page = inside(document).find(each => each.localName === 'vz-projector');
  const state = page?.bookmarkPanel?.savedStates?.[0];
  // wait until the page has drawn its PCA, which would replace the bookmark
  const data = page?.dataSet, isDrawn = page?.projection?.dataSet === data;
  if (!state || !data?.projections['pca-0'] || !isDrawn || data === opened) return;
  opened = data;
  if (page.bookmarkPanel.savedStatesValid([state])) page.bookmarkPanel.loadSavedState(0);
}, 200);
"""

logger = logging.getLogger(__name__)


def serve(log_dir: Path, host: str = "127.0.0.1", port: int | None = None) -> str:
    """Start TensorBoard on a folder, in a thread that stops with this process.

    The projector of this server reads changed files again. TensorBoard's own projector shows the
    first version of a file until TensorBoard is restarted.

    Parameters
    ----------
    log_dir : Path
        Folder with runs.
    host : str
        Address to listen on.
    port : int, optional
        None selects 6006 or the next free port, 0 any free port.

    Returns
    -------
    str
        The URL.

    Raises
    ------
    RuntimeError
        If the port is in use, or the address does not belong to this machine.
    """
    do_without_tensorflow()
    plugins = default.get_plugins()
    plugins[plugins.index(ProjectorPlugin)] = _RereadingProjector
    board = program.TensorBoard(plugins)
    board.configure(logdir=str(log_dir), host=host, port=port)
    attempts = MAX_ATTEMPTS if port is None else 1
    while True:
        attempts -= 1
        messages = io.StringIO()
        try:
            with contextlib.redirect_stderr(messages):
                return board.launch()
        except program.TensorBoardServerException as error:
            raise RuntimeError(f"{error.msg}{port_user(board.flags.port or 0)}") from error
        except SystemExit as error:
            # The port or the address cannot be used; the web server has written the reason to
            # stderr. Retry, because a different process may have taken the port after TensorBoard
            # had found it free.
            if not attempts:
                reason = messages.getvalue().strip().rpartition("\n")[2]
                raise RuntimeError(f"TensorBoard cannot listen on {host}: {reason}") from error
        finally:
            logger.info("TensorBoard: %s", messages.getvalue().strip())


class _RereadingProjector(ProjectorPlugin):
    """Projector of TensorBoard that reads replaced files again, and opens with a bookmark."""

    _run_paths: dict[str, str] | None

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        #: Modification time and inode of each folder's configuration when it was last read.
        self._versions: dict[str, tuple[int, int]] = {}

    def _update_configs(self) -> None:
        versions = {}
        for folder in (self.logdir, *(self._run_paths or {}).values()):
            with contextlib.suppress(OSError):
                status = os.stat(os.path.join(folder, PROJECTOR_FILENAME))
                versions[folder] = status.st_mtime_ns, status.st_ino
        if versions != self._versions:
            self._versions = versions
            self._run_paths = None  # so the method of the base class reads all files again
            self.tensor_cache = LRUCache(1)
        super()._update_configs()

    def get_plugin_apps(self) -> dict[str, Any]:
        return super().get_plugin_apps() | {f"/{SCRIPT}": self._serve_script}

    def _serve_script(self, environ: Any, start_response: Any) -> Any:
        path = Path(projector_plugin.__file__).with_name("tf_projector_plugin") / SCRIPT
        content = path.read_text("utf-8") + BOOKMARK_SCRIPT
        page = Respond(Request(environ), content, "application/javascript")
        return page(environ, start_response)

    def is_active(self) -> bool:
        is_active = super().is_active()
        search_thread = self._thread_for_determining_is_active
        if not is_active and search_thread:
            # Wait until the search for vectors ends. Otherwise, the first page would not list the
            # projector.
            search_thread.join(SEARCH_SECONDS)
        return bool(self._is_active)
