/** The own account: name, password, and the organizations one belongs to. */
import { useState } from 'preact/hooks'
import type { Api } from '../api'
import { Doom } from '../forms/doom'
import { EditForm } from '../forms/edit-form'
import type { Body } from '../forms/spec'
import { readMe } from '../sign-in'
import { Button } from '../ui/buttons'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

export function AccountSettings(view: View) {
  const { api, me } = view
  const [changed, setChanged] = useState(0)
  const save = async (_body: Body, changes: Body) => {
    await api.own('PATCH', '/auth/me', changes)
    tell(t('account.saved'))
    await readMe()
    setChanged(changed + 1)
  }
  return (
    <>
      <section class="card narrow" aria-label={t('account.you')}>
        <h2>{t('account.you')}</h2>
        <p class="hint">{me.email}</p>
        <EditForm
          key={`name ${changed}`}
          specs={[{ kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true }]}
          value={me}
          submit={t('act.save')}
          send={save}
        />
      </section>
      <section class="card narrow" aria-label={t('account.password')}>
        <h2>{t('account.password')}</h2>
        <p class="hint">{t('account.password_means')}</p>
        <EditForm
          key={`password ${changed}`}
          specs={[
            {
              kind: 'secret',
              name: 'current_password',
              label: t('account.current_password'),
              autoComplete: 'current-password',
              required: true,
            },
            { kind: 'secret', name: 'new_password', label: t('account.new_password'), max: 200, required: true },
          ]}
          submit={t('account.set_password')}
          send={save}
        />
      </section>
      <Organizations {...view} api={api} />
    </>
  )
}

function Organizations({ api, me }: View & { api: Api }) {
  const [left, setLeft] = useState<View['organization']>()
  return (
    <section class="card narrow" aria-label={t('account.organizations')}>
      <h2>{t('account.organizations')}</h2>
      <ul>
        {me.organizations.map((one) => (
          <li key={one.id} class="line">
            <span dir="auto">{one.name}</span>
            <span class="hint">{t(`people.${one.role}`)}</span>
            <span class="grow" />
            <Button
              text={t('account.leave')}
              label={t('account.leave_what', { name: one.name })}
              onClick={() => setLeft(one)}
            />
          </li>
        ))}
      </ul>
      {left && (
        <Doom
          title={t('account.leave_title', { name: left.name })}
          answer={t('account.leave')}
          onClose={() => setLeft(undefined)}
          run={async () => {
            await api.own('DELETE', `/auth/me/organizations/${left.id}`)
            await readMe()
          }}
        >
          {t('account.leave_means')}
        </Doom>
      )}
    </section>
  )
}
