/** Puts an original through the pipeline without storing it, and on demand for good. */
import { useState } from 'preact/hooks'
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import { Dialog } from '../ui/dialogs'
import { Form } from '../ui/form-fields'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

type Props = View & { mailboxes: Mailbox[]; onClose: () => void; onImported: () => Promise<void> }

export function Trial({ api, mailboxes, onClose, onImported }: Props) {
  const [result, setResult] = useState<InboundMessage>()
  const [is_dry, setDry] = useState(true)
  const send = async (form: FormData) => {
    const file = form.get('file') as File
    const text = String(form.get('text'))
    const content = file.size > 0 ? await file.arrayBuffer() : text.replace(/\r?\n/g, '\r\n')
    const path = `/inbound-messages?mailbox_id=${form.get('mailbox_id')}&dry_run=${is_dry}`
    const { data } = await api.post<InboundMessage>(path, undefined, { raw: { type: 'message/rfc822', content } })
    setResult(data)
    if (is_dry) return
    tell(t('trial.filed', { outcome: t(`outcome.${data.outcome}`) }))
    await onImported()
    onClose()
  }
  return (
    <Dialog title={t('trial.title')} onClose={onClose}>
      <Form submit={t(is_dry ? 'trial.try' : 'trial.file')} send={send} onCancel={onClose}>
        <label class="field">
          <span>{t('mail.mailbox')}</span>
          <select name="mailbox_id" required>
            {mailboxes.map(({ id, address }) => (
              <option key={id} value={id}>
                {address}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>{t('trial.as_file')}</span>
          <input type="file" name="file" accept=".eml,message/rfc822" />
        </label>
        <label class="field">
          <span>{t('trial.as_text')}</span>
          <textarea
            name="text"
            rows={6}
            placeholder={'From: carla@customer.example\nSubject: The printer is on fire\n\nHelp!'}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={!is_dry} onChange={() => setDry(!is_dry)} /> {t('trial.for_good')}
        </label>
      </Form>
      {result && (
        <p role="status">
          {t('trial.would', {
            outcome: t(`outcome.${result.outcome}`),
            rule: result.rule ? t(`rule.${result.rule}`) : '–',
            sender: result.from?.email ?? '–',
          })}
        </p>
      )}
    </Dialog>
  )
}
