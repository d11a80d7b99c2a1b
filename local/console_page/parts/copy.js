// A button that copies text, and says so.
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { say } from './toasts.js';

export function Copy({ text, label = 'Copy' }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      say('The browser does not allow copying.', 'bad');
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return html`<button type="button" class="button small" onClick=${copy}>
    ${copied ? 'Copied' : label}
  </button>`;
}
