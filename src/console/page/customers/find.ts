/** Finds contacts, companies and tickets for fields that ask for one. */
import type { Company } from '../../../desk/companies/model'
import type { Contact } from '../../../desk/contacts/model'
import type { Ticket } from '../../../desk/tickets/model'
import { type Api, query } from '../api'
import type { Find } from '../forms/spec'
import { t } from '../words/catalogue'

const MOST = 20

/** Contacts whose name or address has the words. */
export function findContacts(api: Api): Find {
  return async (search) => {
    const { data } = await api.get<Contact[]>(`/contacts${query({ search, per_page: MOST })}`)
    return data.map(({ id, name, email }) => ({ value: id, text: `${name} <${email}>` }))
  }
}

/** Companies whose name or domain has the words. */
export function findCompanies(api: Api): Find {
  return async (search) => {
    const { data } = await api.get<Company[]>(`/companies${query({ search, per_page: MOST })}`)
    return data.map(({ id, name }) => ({ value: id, text: name }))
  }
}

/** Tickets by their code or words. */
export function findTickets(api: Api): Find {
  return async (search) => {
    const { data } = await api.get<Ticket[]>(`/tickets${query({ search, merged: false, per_page: MOST })}`)
    return data.map(({ id, code, subject }) => ({ value: id, text: `${code} ${subject}` }))
  }
}

/** The name of a company by its id. */
export function nameCompany(api: Api): (id: string) => Promise<string> {
  return async (id) => {
    const found = await api.get<Company>(`/companies/${id}`).catch(() => undefined)
    return found?.data.name ?? t('company.gone')
  }
}
