/** The inlet of a mailbox: a URL at which a provider brings its mail over HTTPS. */
import { useState } from 'preact/hooks'
import type { Inlet } from '../../../mail/inlets/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { Api } from '../api'
import { Doom } from '../forms/doom'
import { EditForm } from '../forms/edit-form'
import { SecretOnce } from '../forms/secret'
import { type Body, type Spec, withoutEmpty } from '../forms/spec'
import { Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'

const PROVIDERS = ['raw', 'postmark', 'cloudmailin', 'mailgun', 'sendgrid'] as const

type Props = { api: Api; mailbox: Mailbox; onClose: () => void; reload: () => Promise<void> }

export function InletDialog({ api, mailbox, onClose, reload }: Props) {
  const { address, inlet } = mailbox
  const path = `/mailboxes/${mailbox.id}/inlet`
  const [made, setMade] = useState<Inlet>()
  const [is_closing, setClosing] = useState(false)
  const open = async (body: Body) => {
    const { data } = await api.post<Inlet>(path, withoutEmpty(body))
    await reload()
    setMade(data)
  }
  if (made) {
    return <SecretOnce title={t('inlet.of', { address })} hint={t('inlet.once')} secret={made.url} onClose={onClose} />
  }
  if (is_closing) {
    return (
      <Doom
        title={t('inlet.close_title', { address })}
        answer={t('inlet.close')}
        onClose={onClose}
        run={async () => {
          await api.delete(path)
          tell(t('inlet.closed', { address }))
          await reload()
        }}
      >
        {t('inlet.close_means')}
      </Doom>
    )
  }
  return (
    <Dialog title={t('inlet.of', { address })} onClose={onClose}>
      <p>{t('inlet.means')}</p>
      {inlet && <p class="kept">{t('inlet.has_one', { provider: inlet.provider })}</p>}
      <EditForm
        specs={specs()}
        value={{ provider: inlet?.provider ?? 'raw' }}
        submit={inlet ? t('inlet.renew') : t('inlet.open')}
        send={open}
        onCancel={onClose}
      />
      {inlet && (
        <p class="buttons">
          <Button text={t('inlet.close')} onClick={() => setClosing(true)} />
        </p>
      )}
    </Dialog>
  )
}

function specs(): Spec[] {
  const isOf = (provider: string) => (body: Body) => body.provider === provider
  const key = (hint: string, when: (body: Body) => boolean): Spec => ({
    kind: 'secret',
    name: 'signing_key',
    label: t('inlet.key'),
    hint,
    max: 4096,
    when,
  })
  return [
    {
      kind: 'choice',
      name: 'provider',
      label: t('inlet.provider'),
      options: PROVIDERS.map((value) => ({ value, text: t(`inlet.${value}`) })),
    },
    key(t('inlet.key_mailgun'), isOf('mailgun')),
    key(t('inlet.key_sendgrid'), isOf('sendgrid')),
    key(t('inlet.key_basic'), ({ provider }) => provider !== 'mailgun' && provider !== 'sendgrid'),
  ]
}
