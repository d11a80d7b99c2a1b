// A page that talks to the server through Amplify; the tests call `page` and look at what it heard.
import { Amplify } from 'aws-amplify';
import { generateClient } from 'aws-amplify/api';
import { Hub } from 'aws-amplify/utils';

const subscriptions = new Map();
const heard = { acks: [], states: [], sockets: 0 };

// Counts connections: Amplify puts all subscriptions on one.
class CountedSocket extends WebSocket {
  constructor(...rest) {
    super(...rest);
    heard.sockets += 1;
  }
}
window.WebSocket = CountedSocket;

Hub.listen('api', ({ payload }) => {
  if (payload.event === 'ConnectionStateChange') {
    heard.states.push(payload.data.connectionState);
  } else if (payload.data?.variables) {
    heard.acks.push(payload.data.variables);
  }
});

window.page = {
  configure(endpoint, apiKey) {
    Amplify.configure({
      API: { GraphQL: { endpoint, region: 'us-east-1', defaultAuthMode: 'apiKey', apiKey } },
    });
  },

  subscribe(name, query, variables, options = {}) {
    const events = [];
    const errors = [];
    const observable = generateClient().graphql({ query, variables, ...options });
    const subscription = observable.subscribe({
      next: ({ data }) => events.push(data),
      error: (error) => errors.push(JSON.stringify(error)),
    });
    subscriptions.set(name, { subscription, events, errors });
  },

  unsubscribe(name) {
    subscriptions.get(name).subscription.unsubscribe();
  },

  async ask(query, variables) {
    return generateClient().graphql({ query, variables });
  },

  heard(name) {
    const { events, errors } = subscriptions.get(name);
    return { events, errors, ...heard };
  },
};
