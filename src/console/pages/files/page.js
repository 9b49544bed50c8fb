/** What both pages share: the token of the link, the API, and what the person is shown. */

/** The token of the link; empty when there is no token in it. */
export const token = new URLSearchParams(location.search).get('token') ?? ''

/** An element by its id. */
export const element = (id) => document.getElementById(id)

/**
 * Calls the API, which is beside the page.
 * @returns the answer's body, and its error if it has one
 */
export async function call(method, path, { body, access_token } = {}) {
  const response = await fetch(`api/v1${path}`, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(access_token && { authorization: `Bearer ${access_token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const answer = text ? JSON.parse(text) : {}
  return { ok: response.ok, answer, error: answer.error }
}

/** Shows what happened, and lets screen readers say it. */
export function tell(text) {
  element('status').textContent = text
  element('status').focus()
}

const TEXTS = {
  INVALID_TOKEN: 'This link is not valid: it was used, taken back or replaced by a newer one.',
  TOKEN_EXPIRED: 'This link is too old. Ask for a new one.',
  INVALID_CREDENTIALS: 'The password is not that of your account, or the code is not right.',
  SECOND_FACTOR_REQUIRED: 'Your account has a second factor: enter a code, too.',
  RATE_LIMITED: 'Too many attempts. Wait some minutes and try again.',
}

/** Shows why the API refused. */
export function tellError(error) {
  const faults = (error.details?.errors ?? []).map(
    ({ path, message }) => `${path.slice(1).replace('_', ' ')} ${message}`,
  )
  tell(TEXTS[error.code] ?? (faults.length > 0 ? `${faults.join('. ')}.` : error.message))
}

/** Runs `work` when the form is sent, once at a time. */
export function onSubmit(form, work) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void alone(form, work)
  })
}

/** Runs `work` while the buttons of the form are off. */
export async function alone(form, work) {
  const buttons = [...form.querySelectorAll('button')]
  for (const button of buttons) button.disabled = true
  try {
    await work()
  } catch {
    tell('The service cannot be reached. Try again.')
  } finally {
    for (const button of buttons) button.disabled = false
  }
}
