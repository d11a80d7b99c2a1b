import { util } from '@aws-appsync/utils';

// As `MAX_EVENT_BYTES` in core/limits.py: AppSync drops larger events without a word.
const MAX_EVENT_BYTES = 240000;

// Gives an event back as it came: that is what AppSync's subscribers are told, of the fields that are selected.
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
