/** Rules about senders: whose mail is held, and whose never as spam. */
import type { SenderRule } from '../../../mail/sender-rules/model'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

export function SenderRules({ api }: View) {
  return (
    <>
      <p class="hint">{t('sender.means')}</p>
      <Managed<SenderRule>
        api={api}
        path="/sender-rules"
        caption={t('settings.senders')}
        adding={t('sender.add')}
        empty={t('sender.none')}
        head={[t('sender.sender'), t('sender.action'), t('field.since')]}
        nameOf={({ sender }) => sender}
        cells={({ sender, action, created_at }) => (
          <>
            <td class="wide">{sender}</td>
            <td>
              <Dot kind={action === 'block' ? 'failed' : 'sent'}>{t(`sender.${action}`)}</Dot>
            </td>
            <td>
              <Time at={created_at} />
            </td>
          </>
        )}
        specs={(one) =>
          // A second rule for a sender replaces the first.
          one
            ? undefined
            : [
                { kind: 'text', name: 'sender', label: t('sender.sender'), hint: t('sender.hint'), required: true },
                {
                  kind: 'choice',
                  name: 'action',
                  label: t('sender.action'),
                  options: (['block', 'allow'] as const).map((value) => ({ value, text: t(`sender.${value}`) })),
                },
              ]
        }
        deleteMeans={() => t('sender.delete_means')}
      />
    </>
  )
}
