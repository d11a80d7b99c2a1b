// A labelled input with a hint that screen readers read with it.
import { html } from 'htm/preact';
import { useId } from 'preact/hooks';

export function Field({ label, hint, value, onInput, type = 'text', ...rest }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type=${type}
      value=${value}
      autocomplete="off"
      dir="auto"
      spellcheck=${false}
      aria-describedby=${hint ? `${id}-hint` : undefined}
      onInput=${(event) => onInput(event.target.value)}
      ...${rest}
    />
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

export function Choice({ label, hint, value, onChange, options }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select
      id=${id}
      value=${value}
      aria-describedby=${hint ? `${id}-hint` : undefined}
      onChange=${(event) => onChange(event.target.value)}
    >
      ${options.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}
    </select>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

// Radio buttons or, with a list as its value, checkboxes, each with what it means.
export function Options({ legend, name, value, onChange, options }) {
  const several = Array.isArray(value);
  const toggle = (option, on) =>
    several ? [...value.filter((each) => each !== option), ...(on ? [option] : [])] : option;
  return html`<fieldset class="options">
    <legend>${legend}</legend>
    <div class="cards">
      ${options.map(
        ([option, title, text]) =>
          html`<label key=${option} class="option">
            <input
              type=${several ? 'checkbox' : 'radio'}
              name=${name}
              checked=${several ? value.includes(option) : value === option}
              onChange=${(event) => onChange(toggle(option, event.target.checked))}
            />
            <span><strong>${title}</strong><span class="muted">${text}</span></span>
          </label>`,
      )}
    </div>
  </fieldset>`;
}
