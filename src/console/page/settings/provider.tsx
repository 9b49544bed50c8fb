/** Signing in: the identity provider of the organization, and whether a second factor is needed. */
import { useState } from 'preact/hooks'
import type { IdentityProvider } from '../../../people/identity/model'
import { Refusal } from '../api'
import { Doom } from '../forms/doom'
import { EditForm } from '../forms/edit-form'
import { Copyable } from '../forms/secret'
import type { Body, Spec } from '../forms/spec'
import { useLive } from '../live'
import { Action, Button } from '../ui/buttons'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { useOrganization } from './organization'

const SELDOM_MS = 300_000
const NEW = { provision: 'none', session_seconds: 43_200 }

type Found = { provider: IdentityProvider | undefined; etag: string | null }

export function SignInSettings(view: View) {
  const { api } = view
  const live = useLive<Found>(
    `provider ${api.organization_id}`,
    async (_before, signal) => {
      try {
        const { data, etag } = await api.get<IdentityProvider>('/identity-provider', { signal })
        return { provider: data, etag }
      } catch (error) {
        if (error instanceof Refusal && error.code === 'IDENTITY_PROVIDER_NOT_FOUND')
          return { provider: undefined, etag: null }
        throw error
      }
    },
    SELDOM_MS,
  )
  return (
    <>
      <SecondFactorRule {...view} />
      <section class="card narrow" aria-label={t('provider.title')}>
        <h2>{t('provider.title')}</h2>
        <p class="hint">{t('provider.means')}</p>
        {live.value ? <Provider {...view} {...live.value} reload={live.reload} /> : <Waiting error={live.error} />}
      </section>
    </>
  )
}

function SecondFactorRule({ api }: View) {
  const live = useOrganization(api)
  const is_on = live.value?.organization.require_second_factor
  return (
    <section class="card narrow" aria-label={t('factor.rule')}>
      <h2>{t('factor.rule')}</h2>
      <p>{t(is_on ? 'factor.is_required' : 'factor.is_free')}</p>
      {live.value && (
        <Action
          run={async () => {
            await api.patch('/organization', { require_second_factor: !is_on })
            await live.reload()
          }}
        >
          {t(is_on ? 'factor.free' : 'factor.require')}
        </Action>
      )}
    </section>
  )
}

function Provider({ api, provider, etag, reload }: View & Found & { reload: () => Promise<void> }) {
  const [is_removing, setRemoving] = useState(false)
  const [saved, setSaved] = useState(0)
  const base = `${new URL('api/v1/auth/oidc', location.href)}`
  const match: Record<string, string> = etag ? { 'if-match': etag } : {}
  const save = async (body: Body) => {
    await api.put('/identity-provider', toBody(body), match)
    tell(t('provider.saved'))
    await reload()
    setSaved(saved + 1)
  }
  return (
    <>
      <dl class="dns-record">
        <div>
          <dt>{t('provider.redirect')}</dt>
          <dd>
            <Copyable text={`${base}/callback?organization=${api.organization_id}`} label={t('provider.redirect')} />
          </dd>
        </div>
        <div>
          <dt>{t('provider.logout')}</dt>
          <dd>
            <Copyable text={`${base}/${api.organization_id}/logout`} label={t('provider.logout')} />
          </dd>
        </div>
        <div>
          <dt>{t('provider.page')}</dt>
          <dd>
            <Copyable
              text={`${new URL(`./?organization=${api.organization_id}`, location.href)}`}
              label={t('provider.page')}
            />
          </dd>
        </div>
      </dl>
      <EditForm key={saved} specs={specsOf(provider)} value={toValue(provider)} submit={t('act.save')} send={save} />
      {provider && (
        <p class="buttons">
          <Button text={t('provider.remove')} onClick={() => setRemoving(true)} />
        </p>
      )}
      {is_removing && provider && (
        <Doom
          title={t('provider.remove_title', { issuer: provider.issuer })}
          answer={t('provider.remove')}
          onClose={() => setRemoving(false)}
          run={async () => {
            await api.delete('/identity-provider', undefined, match)
            await reload()
            setSaved(saved + 1)
          }}
        >
          {t('provider.remove_means')}
        </Doom>
      )}
    </>
  )
}

function specsOf(provider: IdentityProvider | undefined): Spec[] {
  const hasClaim = ({ role_claim }: Body) => !!role_claim
  return [
    { kind: 'url', name: 'issuer', label: t('provider.issuer'), hint: t('provider.issuer_hint'), required: true },
    { kind: 'text', name: 'client_id', label: t('oauth.client_id'), max: 255, required: true },
    {
      kind: 'secret',
      name: 'client_secret',
      label: t('oauth.client_secret'),
      hint: t(provider?.has_client_secret ? 'form.secret_stays' : 'provider.public_hint'),
      max: 255,
    },
    { kind: 'check', name: 'trust_email', label: t('provider.trust'), hint: t('provider.trust_hint') },
    {
      kind: 'choice',
      name: 'provision',
      label: t('provider.provision'),
      options: (['none', 'domain', 'claim'] as const).map((value) => ({ value, text: t(`provider.by_${value}`) })),
    },
    { kind: 'lines', name: 'domains', label: t('provider.domains'), when: ({ provision }) => provision === 'domain' },
    { kind: 'text', name: 'role_claim', label: t('provider.claim'), hint: t('provider.claim_hint'), max: 255 },
    { kind: 'lines', name: 'role_values.admin', label: t('provider.admins'), rows: 2, when: hasClaim },
    { kind: 'lines', name: 'role_values.agent', label: t('provider.agents'), rows: 2, when: hasClaim },
    { kind: 'number', name: 'session_seconds', label: t('provider.session'), min: 300, max: 604_800 },
    { kind: 'lines', name: 'redirect_uris', label: t('provider.uris'), hint: t('provider.uris_hint'), rows: 2 },
    { kind: 'check', name: 'required', label: t('provider.required'), hint: t('provider.required_hint') },
  ]
}

function toValue(provider: IdentityProvider | undefined): Body {
  return { ...NEW, ...provider }
}

/** A secret that is left out stays; without one before, the client is public. */
function toBody(body: Body): Body {
  return { ...body, session_seconds: body.session_seconds ?? NEW.session_seconds }
}
