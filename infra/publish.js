import { util } from '@aws-appsync/utils';

// `MAX_EVENT_BYTES` of core/domain/limits.py: AppSync drops larger events silently.
const MAX_EVENT_BYTES = 240000;

// Return the event unchanged: AppSync sends subscribers those of its fields that the mutation selects.
export function request(ctx) {
  // Base64 writes 4 characters for 3 bytes of UTF-8.
  if (util.base64Encode(JSON.stringify(ctx.args.input)).length > (MAX_EVENT_BYTES / 3) * 4) {
    util.error('input: must be at most ' + MAX_EVENT_BYTES + ' bytes of JSON', 'InvalidInput');
  }
  return { payload: ctx.args.input };
}

export function response(ctx) {
  return ctx.result;
}
