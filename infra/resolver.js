import { extensions, util } from '@aws-appsync/utils';

// Invoke the resolvers' function with what it needs and no more: the ranks of a page are a thousand calls in one
// event, and Lambda takes at most 6 MB.
export function request(ctx) {
  return {
    operation: '${operation}',
    payload: {
      secret: '${secret}',
      arguments: ctx.args,
      identity: ctx.identity,
      source: ctx.source,
      info: {
        parentTypeName: ctx.info.parentTypeName,
        fieldName: ctx.info.fieldName,
        selectionSetGraphQL: ctx.info.selectionSetGraphQL,
      },
    },
  };
}

// The function answers { data } or { errorType, errorMessage }, and for some subscriptions { data, filter }. If it
// fails without an answer, clients get a general message; the details stay in its log.
export function response(ctx) {
  if (ctx.error || !ctx.result) {
    util.error('Something went wrong on our side; try again', 'InternalFailure');
  }
  if (ctx.result.errorMessage) {
    util.error(ctx.result.errorMessage, ctx.result.errorType);
  }
  if (ctx.result.filter) {
    extensions.setSubscriptionFilter(ctx.result.filter);
  }
  return ctx.result.data;
}
