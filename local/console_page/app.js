// The page: its header, the view that the address names, and what lies over it.
import { html, render } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import { Header } from './parts/header.js';
import { OperationDialog } from './parts/operation_dialog.js';
import { DemoProgress } from './parts/demo.js';
import { RequestPanel } from './parts/requests.js';
import { Toasts } from './parts/toasts.js';
import { route } from './router.js';
import { useStore } from './store.js';
import { BoardView } from './views/board.js';
import { BoardsView } from './views/boards.js';
import { ConnectView } from './views/connect.js';
import { CreateView } from './views/create.js';
import { ParticipantView } from './views/participant.js';

const VIEWS = {
  boards: ([id], options) =>
    id === undefined ? html`<${BoardsView} />` : html`<${BoardView} key=${id} id=${id} options=${options} />`,
  participants: ([id], options) => html`<${ParticipantView} key=${id} id=${id} options=${options} />`,
  create: () => html`<${CreateView} />`,
  connect: () => html`<${ConnectView} />`,
};

function Page() {
  const { path, options } = useStore(route);
  const [name = 'boards', ...rest] = path;
  const main = useRef();
  const isFirst = useRef(true);
  const address = path.join('/');
  useEffect(() => {
    if (!isFirst.current) {
      scrollTo(0, 0);
      main.current.focus({ preventScroll: true }); // so that a screen reader reads the new view
    }
    isFirst.current = false;
  }, [address]);
  const view = VIEWS[name] ?? VIEWS.boards;
  return html`
    <button type="button" class="skip" onClick=${() => main.current.focus()}>Skip to the content</button>
    <${Header} current=${name} />
    <${DemoProgress} />
    <main ref=${main} tabindex="-1">${view(rest, options)}</main>
    <${RequestPanel} />
    <${OperationDialog} />
    <${Toasts} />
  `;
}

render(html`<${Page} />`, document.body);
