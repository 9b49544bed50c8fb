/** What both pages share: the token of the link, the API, and what the person is shown, in English or German. */
import { german } from './german.js'

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

/** The first language of the browser that there is. */
const language = navigator.languages.map((tag) => tag.slice(0, 2)).find((code) => code === 'de' || code === 'en')

/** A text in the language of the browser, with values for the names in braces. */
export function say(text, values = {}) {
  const words = (language === 'de' && german[text]) || text
  return words.replace(/{(\w+)}/g, (_, name) => values[name])
}

document.documentElement.lang = language ?? 'en'
document.title = say(document.title)
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (texts.nextNode()) {
  const { data } = texts.currentNode
  if (data.trim()) texts.currentNode.data = say(data.trim())
}

/** Shows what happened, and lets screen readers say it. */
export function tell(text, values) {
  const status = element('status')
  status.hidden = !text
  status.textContent = say(text, values)
  if (text) status.focus()
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
