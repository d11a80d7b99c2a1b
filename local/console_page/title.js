// The document's title, which names the view.
import { useEffect } from 'preact/hooks';

export function useTitle(title) {
  useEffect(() => {
    document.title = `${title} – Leaderboard`;
  }, [title]);
}
