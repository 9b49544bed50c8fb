/** The form of a mailbox: its address, its server with password or tokens, its signatures. */
import type { Mailbox } from '../../../mail/mailboxes/model'
import { formatSpec, withFormat } from '../forms/format-field'
import { type Body, type Option, type Spec, valueAt } from '../forms/spec'
import { t } from '../words/catalogue'

const sends = (body: Body) => !!valueAt(body, 'smtp.host')
const signsIn = (by: string) => (body: Body) => sends(body) && body.sign_in === by
const signs = (body: Body) => !!valueAt(body, 'dkim.domain')

/** Its fields; those of the server appear with its host. */
export function mailboxSpecs(one: Mailbox | undefined, teams: Option[] = []): Spec[] {
  return [...addressSpecs(teams), ...serverSpecs(one), ...tokenSpecs(one), ...signatureSpecs()]
}

function addressSpecs(teams: Option[]): Spec[] {
  return [
    { kind: 'email', name: 'address', label: t('mailbox.address'), hint: t('mailbox.address_hint'), required: true },
    { kind: 'text', name: 'name', label: t('field.name'), hint: t('mailbox.name_hint'), max: 255 },
    {
      kind: 'choice',
      name: 'team_id',
      is_rare: true,
      label: t('field.team'),
      hint: t('mailbox.team_hint'),
      options: [{ value: '', text: t('team.no_team') }, ...teams],
    },
    { kind: 'check', name: 'active', is_rare: true, label: t('mailbox.is_active') },
    { kind: 'check', name: 'is_default', is_rare: true, label: t('mailbox.is_default') },
    { kind: 'check', name: 'plus_addressing', is_rare: true, label: t('mailbox.plus'), hint: t('mailbox.plus_hint') },
  ]
}

function serverSpecs(one: Mailbox | undefined): Spec[] {
  return [
    { kind: 'text', name: 'smtp.host', label: t('mailbox.host'), hint: t('mailbox.host_hint'), max: 255 },
    {
      kind: 'number',
      name: 'smtp.port',
      label: t('mailbox.port'),
      hint: t('mailbox.port_hint'),
      min: 1,
      max: 65_535,
      when: sends,
    },
    {
      kind: 'choice',
      name: 'smtp.security',
      label: t('mailbox.security'),
      options: (['starttls', 'tls', 'none'] as const).map((value) => ({ value, text: t(`mailbox.security_${value}`) })),
      when: sends,
    },
    {
      kind: 'choice',
      name: 'sign_in',
      label: t('mailbox.sign_in'),
      options: (['password', 'oauth2', 'nothing'] as const).map((value) => ({
        value,
        text: t(`mailbox.sign_in_${value}`),
      })),
      when: sends,
    },
    {
      kind: 'text',
      name: 'smtp.username',
      label: t('mailbox.user'),
      max: 255,
      when: (body) => sends(body) && body.sign_in !== 'nothing',
    },
    {
      kind: 'secret',
      name: 'smtp.password',
      label: t('mailbox.password'),
      hint: one?.smtp ? t('form.secret_stays') : undefined,
      max: 255,
      when: signsIn('password'),
    },
  ]
}

function tokenSpecs(one: Mailbox | undefined): Spec[] {
  const stored = one?.smtp?.auth
  const when = signsIn('oauth2')
  return [
    {
      kind: 'choice',
      name: 'smtp.auth.grant',
      label: t('oauth.grant'),
      options: (['client_credentials', 'refresh_token'] as const).map((value) => ({
        value,
        text: t(`oauth.${value}`),
      })),
      when,
    },
    {
      kind: 'url',
      name: 'smtp.auth.token_url',
      label: t('oauth.token_url'),
      hint: t('oauth.url_hint'),
      required: true,
      when,
    },
    { kind: 'text', name: 'smtp.auth.client_id', label: t('oauth.client_id'), max: 255, required: true, when },
    {
      kind: 'secret',
      name: 'smtp.auth.client_secret',
      label: t('oauth.client_secret'),
      hint: stored?.has_client_secret ? t('form.secret_stays') : undefined,
      max: 4096,
      when,
    },
    { kind: 'text', name: 'smtp.auth.scope', label: t('oauth.scope'), hint: t('oauth.scope_hint'), max: 2048, when },
    {
      kind: 'secret',
      name: 'smtp.auth.refresh_token',
      label: t('oauth.refresh_token_field'),
      hint: stored?.has_refresh_token ? t('form.secret_stays') : undefined,
      max: 4096,
      when: (body) => when(body) && valueAt(body, 'smtp.auth.grant') === 'refresh_token',
    },
  ]
}

function signatureSpecs(): Spec[] {
  return [
    { kind: 'text', name: 'dkim.domain', is_rare: true, label: t('dkim.domain'), hint: t('dkim.hint'), max: 253 },
    {
      kind: 'text',
      name: 'dkim.selector',
      is_rare: true,
      label: t('dkim.selector'),
      max: 63,
      required: true,
      when: signs,
    },
    {
      kind: 'area',
      name: 'dkim.private_key',
      is_rare: true,
      label: t('dkim.key'),
      hint: t('dkim.key_hint'),
      max: 10_000,
      rows: 3,
      when: signs,
    },
    { kind: 'check', name: 'verp', is_rare: true, label: t('mailbox.verp'), hint: t('mailbox.verp_hint') },
    {
      kind: 'text',
      name: 'from_name',
      is_rare: true,
      label: t('mailbox.from_name'),
      hint: t('mailbox.from_name_hint'),
      max: 255,
    },
    {
      kind: 'area',
      name: 'signature',
      label: t('mailbox.signature'),
      hint: t('mailbox.signature_hint'),
      max: 10_000,
      rows: 4,
    },
    formatSpec('signature_format'),
    {
      kind: 'choice',
      name: 'quote',
      label: t('mailbox.quote'),
      hint: t('mailbox.quote_hint'),
      options: (['last', 'all', 'none'] as const).map((value) => ({ value, text: t(`quote.${value}`) })),
    },
  ]
}

/** The values that the form begins with. */
export function mailboxValue(one: Mailbox | undefined): Body {
  const server = { port: 587, security: 'starttls' }
  if (!one) return { active: true, plus_addressing: true, smtp: server, sign_in: 'password', quote: 'last' }
  const { smtp } = one
  const sign_in = smtp?.auth ? 'oauth2' : smtp && smtp.username === null ? 'nothing' : 'password'
  return { ...one, smtp: smtp ?? server, sign_in }
}

/** The body that the form becomes: without a host the mailbox only receives, without a domain nothing is signed. */
export function mailboxBody({ sign_in, ...given }: Body, one: Mailbox | undefined): Body {
  const body = withFormat(given, ['signature', 'signature_format'], one)
  const { smtp, dkim } = body as { smtp?: Body; dkim?: Body }
  // A new mailbox leaves it out.
  const none = one ? null : undefined
  return {
    ...body,
    ...(smtp && { smtp: smtp.host ? smtpBody(smtp, sign_in) : none }),
    ...(dkim && { dkim: dkim.domain ? dkimBody(dkim) : none }),
  }
}

function smtpBody(smtp: Body, sign_in: unknown): Body {
  const { auth, username = null, ...server } = smtp as { auth?: Body; username?: string | null } & Body
  if (sign_in === 'nothing') return { ...server, username: null, password: null, auth: null }
  return { ...server, username, auth: sign_in === 'oauth2' ? { type: 'oauth2', ...auth } : null }
}

function dkimBody({ private_key, ...dkim }: Body): Body {
  return private_key ? { ...dkim, private_key } : dkim
}
