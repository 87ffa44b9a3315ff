// --mca NAME VALUE and its kin: Open MPI's parameters.
//
// Scripts are full of them. One that means the same as an option of ours is treated as that option.
// All others (mostly which network module to load) are noted once, by name, and have no effect.
#include <array>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

// plm: which of its starters Open MPI is to take.
Result<void> starter(Draft& draft, const Given& given) {
  const std::string& name = given.words[0];
  if (name == "slurm" || name == "ssh" || name == "rsh")
    return apply::launcher(draft, Given{given.spelling, {name == "rsh" ? "ssh" : name}});
  draft.ignored_mca.push_back("plm");
  return {};
}

// rmaps: which of its mappers Open MPI is to take; those of a policy go by their policy.
Result<void> mapper(Draft& draft, const Given& given) {
  if (given.words[0] == "seq" || given.words[0] == "rank_file")
    draft.job.placement.map_by = given.words[0] == "seq" ? MapBy::seq : MapBy::rankfile;
  return {};
}

// What a parameter or variable of another launcher says.
enum class Says {
  words,
  on,          // on for 1, true, yes; off for everything else, where off is the default
  given,       // counts as an option only: what an environment says of it is Open MPI's
  interfaces,  // TUTTI_INTERFACES counts before a variable of these
  hostfile     // as a variable it is the default of jobs that name no hosts (default_hostfile)
};
struct Parameter {
  const char* name;
  Apply apply;
  Says says = Says::words;
};

constexpr std::array kParameters{
    Parameter{"plm_rsh_agent", apply::launch_agent},
    Parameter{"plm_ssh_agent", apply::launch_agent},
    Parameter{"plm_rsh_args", apply::agent_args},
    Parameter{"plm_ssh_args", apply::agent_args},
    Parameter{"rmaps", mapper},
    Parameter{"rmaps_base_mapping_policy", apply::map_by},
    Parameter{"rmaps_default_mapping_policy", apply::map_by},
    Parameter{"rmaps_base_ranking_policy", apply::rank_by},
    Parameter{"rmaps_default_ranking_policy", apply::rank_by},
    Parameter{"hwloc_base_binding_policy", apply::bind_to},
    Parameter{"hwloc_default_binding_policy", apply::bind_to},
    Parameter{"rmaps_base_oversubscribe", apply::oversubscribe, Says::on},
    Parameter{"rmaps_base_no_oversubscribe", apply::no_oversubscribe, Says::on},
    Parameter{"hwloc_base_report_bindings", apply::on<&JobSpec::report_bindings>, Says::on},
    Parameter{"hwloc_base_use_hwthreads_as_cpus",
              apply::on_in<&JobSpec::placement, &Placement::use_hwthreads>, Says::on},
    Parameter{"orte_tag_output", apply::tag_output, Says::on},
    Parameter{"orte_timestamp_output", apply::on_in<&JobSpec::output, &OutputSpec::timestamps>,
              Says::on},
    Parameter{"orte_default_hostfile", apply::hostfile, Says::hostfile},
    Parameter{"default_hostfile", apply::hostfile, Says::hostfile},
    Parameter{"prte_default_hostfile", apply::hostfile, Says::hostfile},
    Parameter{"orte_rankfile", apply::rankfile},
    Parameter{"rmaps_rank_file_path", apply::rankfile},
    Parameter{"rmaps_base_pernode", apply::one_per_node, Says::on},
    Parameter{"rmaps_base_cpus_per_rank", apply::cpus_per_rank},
    Parameter{"hwloc_base_cpu_set", apply::cpu_set},
    Parameter{"hwloc_default_cpu_list", apply::cpu_set},
    Parameter{"orte_output_filename", apply::output_filename},
    Parameter{"orte_xml_output", apply::xml, Says::on},
    Parameter{"prte_tag_output", apply::tag_output, Says::on},
    Parameter{"prte_timestamp_output", apply::on_in<&JobSpec::output, &OutputSpec::timestamps>,
              Says::on},
    Parameter{"plm", starter},
    Parameter{"oob_tcp_if_exclude", apply::other_interfaces, Says::interfaces},
    Parameter{"oob_tcp_if_include", apply::interfaces, Says::interfaces},
    Parameter{"prte_if_exclude", apply::other_interfaces, Says::interfaces},
    Parameter{"prte_if_include", apply::interfaces, Says::interfaces},
    Parameter{"btl_tcp_if_exclude", apply::other_interfaces, Says::interfaces},
    Parameter{"btl_tcp_if_include", apply::interfaces, Says::interfaces},
    Parameter{"btl_tcp_links", apply::tcp_links, Says::given},
    Parameter{"tutti_costs", apply::costs},
    Parameter{"plm_base_timeout", apply::start_timeout},
    Parameter{"orte_enable_recovery", apply::on<&JobSpec::keep_going>, Says::on},
    Parameter{"prte_max_restarts", apply::max_restarts},
};

// Of PRRTE's those that stand for options of ours; its own may be shortened.
constexpr std::array kRuntimeOptions{
    "error-nonzero-status", "abort-nonzero-status", "donotlaunch", "continuous",
    "recoverable",          "max-restarts",         "timeout",     "spawn-timeout"};

bool is_on(const std::string& value) {
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

// Variables of other launchers that stand for an option; Kubernetes' MPI Operator sets some.
constexpr std::array kVariables{
    Parameter{"GLOO_SOCKET_IFNAME", apply::interfaces, Says::interfaces},  // a later one counts
    Parameter{"NCCL_SOCKET_IFNAME", apply::interfaces, Says::interfaces},
    Parameter{"FI_TCP_IFACE", apply::interfaces, Says::interfaces},
    Parameter{"HYDRA_IFACE", apply::interfaces, Says::interfaces},
    Parameter{"HYDRA_LAUNCHER", apply::launcher},
    Parameter{"HYDRA_LAUNCHER_EXEC", apply::launch_agent},
    Parameter{"HYDRA_LAUNCH_EXTRA_ARGS", apply::agent_args},
    Parameter{"I_MPI_HYDRA_BOOTSTRAP", apply::launcher},
    Parameter{"I_MPI_HYDRA_BOOTSTRAP_EXEC", apply::launch_agent},
};
constexpr std::array kHostfiles{"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE",
                                "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"};

Result<void> read_variable(Draft& draft, const std::string& name, const Parameter& row) {
  const auto value = draft.around.variable(name);
  if (!value || value->empty() || row.says == Says::hostfile || row.says == Says::given ||
      (row.says == Says::on && !is_on(*value)) ||
      (row.says == Says::interfaces && draft.around.variable("TUTTI_INTERFACES")))
    return {};
  return row.apply(draft, Given{name, {*value}});
}

}  // namespace

Result<void> read_launcher_variables(Draft& draft) {
  if (!draft.around.variable) return {};
  for (const Parameter& row : kVariables) TUTTI_DO(read_variable(draft, row.name, row));
  for (const Parameter& row : kParameters)
    for (const char* prefix : {"OMPI_MCA_", "PRTE_MCA_"})
      TUTTI_DO(read_variable(draft, prefix + std::string(row.name), row));
  draft.ignored_mca.clear();
  return {};
}

std::string default_hostfile(const Draft& draft) {
  if (!draft.around.variable) return "";
  for (const char* name : kHostfiles) {
    const auto value = draft.around.variable(name);
    if (value && !value->empty()) return *value;
  }
  return "";
}

namespace apply {

Result<void> mca(Draft& draft, const Given& given) {
  const std::string& name = given.words[0];
  const std::string& value = given.words[1];
  for (const Parameter& parameter : kParameters) {
    if (name != parameter.name) continue;
    if (parameter.says == Says::on && !is_on(value)) return {};
    return parameter.apply(draft, Given{given.spelling + " " + name, {value}});
  }
  draft.ignored_mca.push_back(name);
  return {};
}

// PRRTE's runtime settings: names, or name=value, where 0, f and false switch one off.
Result<void> runtime_options(Draft& draft, const Given& given) {
  for (const std::string& word : text::split(given.words[0], ',')) {
    const auto equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string name = whole_word(word.substr(0, equals), kRuntimeOptions);
    const Given one{given.spelling + " " + name, {has_value ? word.substr(equals + 1) : ""}};
    const std::string& value = one.words[0];
    const bool on = !has_value || is_on(value) || text::lower(value).starts_with('t');
    if (name == "donotlaunch") {
      draft.job.dry_run = on;
    } else if (name == "continuous" || name == "recoverable") {
      draft.job.keep_going = on;
    } else if (name.ends_with("-nonzero-status")) {
      draft.job.keep_going = !on;
    } else if (name == "max-restarts") {
      TUTTI_DO(max_restarts(draft, one));
    } else if (name == "timeout") {
      TUTTI_DO(timeout(draft, one));
    } else if (name == "spawn-timeout") {
      TUTTI_DO(start_timeout(draft, one));
    } else {
      draft.ignored.push_back(given.spelling + " " + word);
    }
  }
  return {};
}

// srun's --mpi names the plugin by which ranks find each other.
Result<void> slurm_mpi(Draft& draft, const Given& given) {
  if (given.words[0] != "list") return note_only(draft, given);
  return fail(Code::unsupported,
              given.spelling +
                  "=list: there is nothing to choose: ranks of any MPI find each "
                  "other; leave it out");
}

}  // namespace apply
}  // namespace tutti::launch::cli
