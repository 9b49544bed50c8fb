/** The page for a forgotten password: without a token it asks for the link, with one it sets the new password. */
import { call, element, onSubmit, tell, tellError, token } from './page.js'

const [forgot, reset] = [element('forgot'), element('reset')]

tell('')
forgot.hidden = Boolean(token)
reset.hidden = !token
onSubmit(forgot, ask)
onSubmit(reset, set)

async function ask() {
  const { ok, error } = await call('POST', '/auth/password/forgot', { body: { email: element('email').value } })
  if (!ok) return tellError(error)
  forgot.hidden = true
  tell('If there is an account with this email, a link is on its way to it. It works for an hour.')
}

async function set() {
  const body = { token, new_password: element('password').value }
  const { ok, error } = await call('POST', '/auth/password/reset', { body })
  if (!ok) return tellError(error)
  reset.hidden = true
  history.replaceState(null, '', location.pathname)
  element('onward').hidden = false
  tell('The new password is set. Sign in with it.')
}
