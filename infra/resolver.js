import { extensions, util } from '@aws-appsync/utils';

// One call of the resolvers' function. It gets what it needs and no more: a page's ranks are a thousand calls in
// one event, which Lambda takes up to 6 MB of.
export function request(ctx) {
  return {
    operation: '${operation}',
    payload: {
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

// The function answers { data } or { errorType, errorMessage }, and for some subscriptions { data, filter }. If it did not answer at all, its own words stay
// in its log.
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
