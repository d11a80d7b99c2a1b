// The dialog of an operator's action: what it means, its form, its confirmation, its GraphQL, and what came of it.
import { html } from 'htm/preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { send } from '../api.js';
import { opened } from '../operations.js';
import { useStore } from '../store.js';
import { Copy } from './copy.js';
import { Field } from './field.js';
import { Problem } from './states.js';
import { costText } from './requests.js';
import { say } from './toasts.js';

export function OperationDialog() {
  const operation = useStore(opened);
  return operation && html`<${Form} key=${operation.title} operation=${operation} />`;
}

const close = () => opened.set(null);

function Form({ operation }) {
  const { title, subject, explanation, fields, confirm, verb, danger, mutation } = operation;
  const dialog = useRef();
  const [values, setValues] = useState(() =>
    Object.fromEntries(fields.map(({ name, value }) => [name, value ?? ''])),
  );
  const [confirmed, setConfirmed] = useState('');
  const [state, setState] = useState({ busy: false, error: null });
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current.showModal();
    return () => opener?.isConnected && opener.focus();
  }, []);

  const variables = JSON.stringify(operation.variables(values), null, 2);
  const submit = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      const { data, request } = await send(mutation, operation.variables(values));
      say(`${operation.done(data)} ${costText(request)}.`);
      close();
      operation.whenDone?.();
    } catch (error) {
      setState({ busy: false, error });
    }
  };

  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="dialog-title">
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${title}</h2>
      ${subject && html`<p class="subject"><bdi>${subject}</bdi></p>`}
      <p class="muted">${explanation}</p>
      ${fields.map(
        (field) =>
          html`<${Field}
            key=${field.name}
            ...${field}
            value=${values[field.name]}
            onInput=${(value) => setValues((before) => ({ ...before, [field.name]: value }))}
          />`,
      )}
      ${
        confirm &&
        html`<${Field}
          label=${html`Type <bdi class="code">${confirm}</bdi> to confirm`}
          name="confirm"
          value=${confirmed}
          onInput=${setConfirmed}
          required
        />`
      }
      ${state.error && html`<${Problem} error=${state.error} />`}
      <details class="graphql">
        <summary>GraphQL</summary>
        <pre tabindex="0">${mutation}</pre>
        <pre tabindex="0">${variables}</pre>
        <p class="row">
          <${Copy} text=${mutation} label="Copy GraphQL" />
          <${Copy} text=${variables} label="Copy variables" />
        </p>
      </details>
      <p class="row end">
        <button type="button" class="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button
          class="button ${danger ? 'danger' : 'primary'}"
          disabled=${state.busy || (confirm !== undefined && confirmed !== confirm)}
        >
          ${state.busy ? 'Working…' : verb}
        </button>
      </p>
    </form>
  </dialog>`;
}
