// Who the page acts as: an operator, who may do everything, or a public client. Kept for the browser's tab.
import { keys } from './config.js';
import { Store, useStore } from './store.js';

const NAME = 'leaderboard-role';

export const role = new Store(sessionStorage.getItem(NAME) === 'public' ? 'public' : 'operator');
role.watch((value) => sessionStorage.setItem(NAME, value));

export const apiKey = () => keys[role.value];
export const useIsOperator = () => useStore(role) === 'operator';
