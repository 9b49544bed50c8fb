/** The errors that any file may throw: codes of the API, and reasons to end a process with a line for the operator. */

/**
 * A reason why the service or a command cannot go on. Its message is one line for the operator, shown without a stack.
 */
export class OperatorError extends Error {
  /** The exit status of a process that ends because of it. */
  readonly exit_code: number = 1
}

/**
 * Something that the service needs cannot be used at the moment. A request is answered 503, SMTP 451, and other work is
 * tried again. The log shows what is away as `code`, such as S3_UNAVAILABLE, and why as `cause`.
 */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
  readonly code: string

  constructor(
    readonly lost: 'S3' | 'DISK',
    cause: unknown,
  ) {
    super(`${lost} cannot be used`, { cause })
    this.code = `${lost}_UNAVAILABLE`
  }
}

/** Every error code of the API with its HTTP status and default message. No other file maps them. */
export const ERRORS = {
  BAD_REQUEST: [400, 'The request cannot be read'],
  INVALID_CREDENTIALS: [401, 'Email or password is incorrect'],
  TOKEN_EXPIRED: [401, 'The token has expired'],
  INVALID_TOKEN: [401, 'The token is missing, invalid or malformed'],
  INVALID_SIGNATURE: [401, 'The signature of the request is missing or wrong'],
  SECOND_FACTOR_REQUIRED: [401, 'The code of the second factor is needed'],
  FORBIDDEN: [403, 'Insufficient permissions'],
  UNAUTHORIZED: [403, 'Only an admin may change the time entries of others'],
  SECOND_FACTOR_MISSING: [403, 'The organization requires a second factor: set one up for your account'],
  PROVIDER_REQUIRED: [403, 'The organization wants its members to sign in at its identity provider'],
  ATTACHMENT_INFECTED: [403, 'A scan for viruses found one in the file'],
  NOT_FOUND: [404, 'There is no such route'],
  TICKET_NOT_FOUND: [404, 'The ticket does not exist'],
  MESSAGE_NOT_FOUND: [404, 'The message does not exist'],
  DRAFT_NOT_FOUND: [404, 'The draft does not exist'],
  MACRO_NOT_FOUND: [404, 'The macro does not exist'],
  RULE_NOT_FOUND: [404, 'The rule does not exist'],
  ATTACHMENT_NOT_FOUND: [404, 'The attachment does not exist'],
  CONTACT_NOT_FOUND: [404, 'The contact does not exist'],
  CONTACT_TOKEN_NOT_FOUND: [404, 'The contact has no such token'],
  COMPANY_NOT_FOUND: [404, 'The company does not exist'],
  LABEL_NOT_FOUND: [404, 'One or more labels do not exist'],
  TIME_ENTRY_NOT_FOUND: [404, 'The time entry does not exist'],
  TIMER_NOT_FOUND: [404, 'You have no such timer running'],
  WEBHOOK_NOT_FOUND: [404, 'The webhook does not exist'],
  ORGANIZATION_NOT_FOUND: [404, 'You are no member of the organization'],
  SESSION_NOT_FOUND: [404, 'The session does not exist'],
  IDENTITY_PROVIDER_NOT_FOUND: [404, 'The organization has no identity provider'],
  SECOND_FACTOR_NOT_FOUND: [404, 'The account has no second factor'],
  DELIVERY_NOT_FOUND: [404, 'The delivery does not exist'],
  USER_NOT_FOUND: [404, 'The user does not exist or is not an active member'],
  TEAM_NOT_FOUND: [404, 'The team does not exist'],
  SCHEDULE_NOT_FOUND: [404, 'The schedule does not exist'],
  SLA_POLICY_NOT_FOUND: [404, 'The SLA policy does not exist'],
  MAILBOX_NOT_FOUND: [404, 'The mailbox does not exist'],
  DOMAIN_NOT_FOUND: [404, 'The domain does not exist'],
  PARTICIPANT_NOT_FOUND: [404, 'The participant does not exist'],
  INBOUND_MESSAGE_NOT_FOUND: [404, 'The inbound message does not exist'],
  SENDER_RULE_NOT_FOUND: [404, 'The sender rule does not exist'],
  VIEW_NOT_FOUND: [404, 'The view does not exist'],
  API_KEY_NOT_FOUND: [404, 'The API key does not exist or is revoked'],
  REQUEST_TIMEOUT: [408, 'The body of the request takes too long to arrive'],
  CURSOR_EXPIRED: [410, 'Events of that time are not kept any more, or the database was restored'],
  PRECONDITION_FAILED: [412, 'The resource has changed since it was read'],
  PAYLOAD_TOO_LARGE: [413, 'The request is too large'],
  VALIDATION_ERROR: [422, 'The request is not valid'],
  ON_HOLD: [422, 'A hold label keeps it'],
  INVALID_STATUS: [422, 'The status is not valid'],
  INVALID_PRIORITY: [422, 'Priority must be low, normal, high or urgent'],
  INVALID_CUSTOM: [422, 'The custom fields are not valid'],
  INVALID_EMAIL: [422, 'The email address is not valid'],
  INVALID_DOMAIN: [422, 'The domain is not valid'],
  INVALID_COLOR: [422, 'The color must be a hex code such as #EF4444'],
  INVALID_URL: [422, 'The URL must be HTTPS'],
  INVALID_EVENTS: [422, 'The events hold an unknown event type'],
  TICKET_MERGED: [422, 'The ticket was merged into another one'],
  TICKET_NOT_MERGED: [422, 'The ticket is not merged'],
  UNMERGE_EXPIRED: [422, 'The merge is too old to be undone'],
  TIMER_ALREADY_RUNNING: [422, 'You have a timer running already'],
  INVALID_PERMISSIONS: [422, 'The permissions hold an unknown permission'],
  INVALID_DURATION: [422, 'The duration must be a positive whole number of minutes'],
  NOT_HELD: [422, 'The email is not held, or its original is gone'],
  EMPTY_BODY: [422, 'The message body is required'],
  INVALID_CODE: [422, 'The code is not right'],
  PROVIDER_UNREACHABLE: [422, 'The identity provider cannot be used'],
  RATING_REQUESTED: [422, 'The contact was asked for a rating before'],
  SECOND_FACTOR_EXISTS: [422, 'The account has a second factor already'],
  EMAIL_ALREADY_EXISTS: [422, 'The email address is already used'],
  EXTERNAL_ID_EXISTS: [422, 'The external id is already used'],
  DOMAIN_ALREADY_EXISTS: [422, 'The domain is already listed'],
  DOMAIN_NOT_VERIFIED: [422, 'The domain cannot be verified'],
  LABEL_NAME_EXISTS: [422, 'The label name is already used'],
  TEAM_NAME_EXISTS: [422, 'The team name is already used'],
  SCHEDULE_NAME_EXISTS: [422, 'The schedule name is already used'],
  SLA_POLICY_NAME_EXISTS: [422, 'The SLA policy name is already used'],
  MACRO_NAME_EXISTS: [422, 'The macro name is already used'],
  RULE_NAME_EXISTS: [422, 'The rule name is already used'],
  INVALID_VARIABLE: [422, 'The text holds an unknown variable'],
  DRAFT_EXISTS: [422, 'You have such a draft for the ticket already'],
  DRAFT_STALE: [422, 'Public messages have come since the draft was written'],
  EMAIL_SEND_FAILED: [422, 'The email cannot be sent'],
  WEBHOOK_DISABLED: [422, 'The webhook is not active'],
  IDEMPOTENCY_KEY_REUSED: [422, 'The idempotency key was used with another request'],
  RATE_LIMITED: [429, 'Too many requests'],
  INTERNAL_ERROR: [500, 'Something went wrong on our side'],
  SERVICE_UNAVAILABLE: [503, 'The service is not available at the moment'],
} as const

export type ErrorCode = keyof typeof ERRORS

/** One fault of a field; `path` is a JSON pointer into the body, `/query/<name>` or `/headers/<name>`. */
export type Fault = { path: string; message: string }

/**
 * An answer of the API that is an error. Queries and commands throw it, `http/pipeline/error-answers.ts` renders it.
 */
export class ApiError extends Error {
  readonly status: number

  /** @param status stands in for the status of the code: an id in a body that names nothing is 422, not 404 */
  constructor(
    readonly code: ErrorCode,
    readonly details: Record<string, unknown> = {},
    status?: number,
    /** Seconds for the header Retry-After. */
    readonly retry_after_s?: number,
  ) {
    super(ERRORS[code][1])
    this.status = status ?? ERRORS[code][0]
  }
}

/** The 429 about something that may be had later. @param reason a sentence for `details` */
export function tryLater(reason: string, retry_after_s: number): ApiError {
  return new ApiError('RATE_LIMITED', { reason }, undefined, retry_after_s)
}

/**
 * The 422 about one field.
 * @param path where the field is, as in `Fault`
 * @param message what is wrong with it; the code's own message when left out
 */
export function fieldError(code: ErrorCode, path: string, message?: string, more: Record<string, unknown> = {}) {
  return new ApiError(code, { ...more, errors: [{ path, message: message ?? ERRORS[code][1] }] }, 422)
}

/**
 * Waits for work on a part of a body.
 * @throws what it throws; the fields that a 422 names are below `path`
 */
export async function below<Result>(path: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error) => {
    const errors = error instanceof ApiError && error.status === 422 && error.details.errors
    if (!errors) throw error
    const moved = (errors as Fault[]).map((fault) => ({ ...fault, path: path + fault.path }))
    throw new ApiError(error.code, { ...error.details, errors: moved }, error.status)
  })
}

/** The 422 about ids in a body or query that name nothing: the code of their resource, and the ids in `details`. */
export function unknownIds(code: ErrorCode, path: string, ids: string[]) {
  return fieldError(code, path, undefined, { ids })
}
