/** Domains that the organization proves to be its own. */
import type { Domain } from '../../../mail/domains/model'
import { Copyable } from '../forms/secret'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

export function Domains({ api }: View) {
  return (
    <>
      <p class="hint">{t('domain.means')}</p>
      <Managed<Domain>
        api={api}
        path="/domains"
        caption={t('settings.domains')}
        adding={t('domain.add')}
        empty={t('domain.none')}
        head={[t('domain.domain'), t('field.status'), t('domain.record')]}
        nameOf={({ domain }) => domain}
        cells={(one) => (
          <>
            <td class="wide">{one.domain}</td>
            <td>
              <Dot kind={one.status === 'verified' ? 'sent' : 'queued'}>{t(`domain.${one.status}`)}</Dot>
            </td>
            <td class="wide">
              <DnsRecord type="TXT" {...one.dns_record} />
            </td>
          </>
        )}
        specs={(one) =>
          one
            ? undefined
            : [{ kind: 'text', name: 'domain', label: t('domain.domain'), hint: t('domain.hint'), required: true }]
        }
        deleteMeans={() => t('domain.delete_means')}
        acts={({ id, domain }, reload) => (
          <Action
            label={t('domain.check', { domain })}
            run={async () => {
              await api.post(`/domains/${id}/verify`)
              tell(t('domain.is_yours', { domain }))
              await reload()
            }}
          >
            {t('records.check')}
          </Action>
        )}
      />
    </>
  )
}

/** A record to publish, whose name and value are copied. */
export function DnsRecord({ type, name, value }: { type: string; name: string; value: string }) {
  return (
    <dl class="dns-record">
      <div>
        <dt>{t('records.name', { type })}</dt>
        <dd>
          <Copyable text={name} label={t('records.name_of', { name })} />
        </dd>
      </div>
      <div>
        <dt>{t('records.value')}</dt>
        <dd>
          <Copyable text={value} label={t('records.value_of', { name })} />
        </dd>
      </div>
    </dl>
  )
}
