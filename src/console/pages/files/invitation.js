/** The page of an invitation: shows it, accepts or declines it, and lists the organizations of the account then. */
import { alone, call, element, onSubmit, say, tell, tellError, token } from './page.js'

const path = `/auth/invitations/${encodeURIComponent(token)}`
const form = element('accept')

onSubmit(form, accept)
element('decline').addEventListener('click', () => alone(form, decline))
void alone(form, show)

async function show() {
  if (!token) return tell('Open the link of the email that invites you.')
  const { ok, answer, error } = await call('GET', path)
  if (!ok) return tellError(error)
  const { organization, role, email, needs_password, needs_current_password } = answer.data
  const names = { name: organization.name, role: say(role) }
  element('offer').textContent = say('{name} invites you to work on its support tickets as {role}.', names)
  element('email').value = email
  element('name-field').hidden = !needs_password
  element('current-field').hidden = !needs_current_password
  element('current').required = needs_current_password
  element('forgot').hidden = needs_password && !needs_current_password
  if (needs_password) element('password').minLength = 8
  else {
    element('password-label').textContent = say('The password of your account')
    element('password').autocomplete = 'current-password'
  }
  form.hidden = false
  tell('')
}

async function accept() {
  const ids = ['name', 'password', 'current', 'code']
  const [name, password, current_password, code] = ids.map((id) => element(id).value)
  const given = { ...(name.trim() && { name }), ...(current_password && { current_password }), ...(code && { code }) }
  const { ok, answer, error } = await call('POST', `${path}/accept`, { body: { password, ...given } })
  if (error?.code === 'SECOND_FACTOR_REQUIRED') element('code-field').hidden = false
  if (!ok) return tellError(error)
  form.hidden = true
  history.replaceState(null, '', location.pathname)
  element('onward').hidden = false
  tell('You are a member now.')
  await list(answer.access_token)
}

async function decline() {
  const { ok, error } = await call('POST', `${path}/decline`)
  if (!ok) return tellError(error)
  form.hidden = true
  tell('You declined the invitation.')
}

async function list(access_token) {
  const { ok, answer } = await call('GET', '/auth/me', { access_token })
  if (!ok) return
  const items = answer.organizations.map(({ id, name, role }) => {
    const item = document.createElement('li')
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = say('Leave {name}', { name })
    button.addEventListener('click', () => alone(item, () => leave(id, name, access_token)))
    item.className = 'line'
    item.append(`${name} (${say(role)})`, button)
    return item
  })
  element('list').replaceChildren(...items)
  element('memberships').hidden = items.length < 2
}

async function leave(id, name, access_token) {
  const { ok, error } = await call('DELETE', `/auth/me/organizations/${id}`, { access_token })
  if (!ok) return tellError(error)
  tell('You left {name}.', { name })
  await list(access_token)
}
