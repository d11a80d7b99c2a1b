// Where the API is, and the keys of the local stack: they are no secrets, it listens on this machine alone.
export const endpoint = new URL('/graphql', location.href);
export const socketUrl = endpoint.href.replace(/^http/, 'ws');
export const demoUrl = new URL('/console/demo', location.href);
export const placesUrl = new URL('/', location.href);
export const graphiqlUrl = '/graphql';
export const keys = { operator: 'local-admin', public: 'local-public' };
