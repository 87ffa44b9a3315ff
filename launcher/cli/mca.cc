// --mca NAME VALUE and its kin: Open MPI's parameters.
//
// Scripts are full of them. Those that say what one of our options says are taken for it; all
// others (which network module to load, mostly) are noted once, by name, and have no effect.
#include <array>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

Result<void> agent_args(Draft& draft, const Given& given) {
  for (const std::string& word : text::split(given.words[0], ' '))
    if (!word.empty()) draft.job.agent_args.push_back(word);
  return {};
}

// plm: which of its starters Open MPI is to take.
Result<void> starter(Draft& draft, const Given& given) {
  const std::string& name = given.words[0];
  if (name == "slurm" || name == "ssh" || name == "rsh")
    return apply::launcher(draft, Given{given.spelling, {name == "rsh" ? "ssh" : name}});
  draft.ignored_mca.push_back("plm");
  return {};
}

// A switch: on for 1, true, yes; off for everything else, where off is the default.
struct Parameter {
  const char* name;
  Apply apply;
  bool is_switch;
};

constexpr std::array kParameters{
    Parameter{"plm_rsh_agent", apply::launch_agent, false},
    Parameter{"plm_ssh_agent", apply::launch_agent, false},
    Parameter{"plm_rsh_args", agent_args, false},
    Parameter{"plm_ssh_args", agent_args, false},
    Parameter{"rmaps_base_mapping_policy", apply::map_by, false},
    Parameter{"rmaps_default_mapping_policy", apply::map_by, false},
    Parameter{"rmaps_base_ranking_policy", apply::rank_by, false},
    Parameter{"rmaps_default_ranking_policy", apply::rank_by, false},
    Parameter{"hwloc_base_binding_policy", apply::bind_to, false},
    Parameter{"hwloc_default_binding_policy", apply::bind_to, false},
    Parameter{"rmaps_base_oversubscribe", apply::oversubscribe, true},
    Parameter{"rmaps_base_no_oversubscribe", apply::no_oversubscribe, true},
    Parameter{"hwloc_base_report_bindings", apply::on<&JobSpec::report_bindings>, true},
    Parameter{"hwloc_base_use_hwthreads_as_cpus",
              apply::on_in<&JobSpec::placement, &Placement::use_hwthreads>, true},
    Parameter{"orte_tag_output", apply::tag_output, true},
    Parameter{"orte_timestamp_output", apply::on_in<&JobSpec::output, &OutputSpec::timestamps>,
              true},
    Parameter{"orte_default_hostfile", apply::hostfile, false},
    Parameter{"default_hostfile", apply::hostfile, false},
    Parameter{"prte_default_hostfile", apply::hostfile, false},
    Parameter{"orte_rankfile", apply::rankfile, false},
    Parameter{"rmaps_rank_file_path", apply::rankfile, false},
    Parameter{"rmaps_base_pernode", apply::one_per_node, true},
    Parameter{"rmaps_base_cpus_per_rank", apply::cpus_per_rank, false},
    Parameter{"hwloc_base_cpu_set", apply::cpu_set, false},
    Parameter{"hwloc_default_cpu_list", apply::cpu_set, false},
    Parameter{"orte_output_filename", apply::output_directory, false},
    Parameter{"orte_xml_output", apply::xml, true},
    Parameter{"prte_tag_output", apply::tag_output, true},
    Parameter{"prte_timestamp_output", apply::on_in<&JobSpec::output, &OutputSpec::timestamps>,
              true},
    Parameter{"plm", starter, false},
    Parameter{"oob_tcp_if_exclude", apply::other_interfaces, false},
    Parameter{"oob_tcp_if_include", apply::interfaces, false},
    Parameter{"prte_if_exclude", apply::other_interfaces, false},
    Parameter{"prte_if_include", apply::interfaces, false},
    Parameter{"btl_tcp_if_exclude", apply::other_interfaces, false},
    Parameter{"btl_tcp_if_include", apply::interfaces, false},
    Parameter{"plm_base_timeout", apply::start_timeout, false},
    Parameter{"orte_enable_recovery", apply::on<&JobSpec::keep_going>, true},
    Parameter{"prte_max_restarts", apply::max_restarts, false},
};

bool is_on(const std::string& value) {
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

// Variables of other launchers that stand for an option; Kubernetes' MPI Operator sets some.
struct Default {
  const char* variable;
  Apply apply;
};
constexpr std::array kDefaults{
    Default{"GLOO_SOCKET_IFNAME", apply::interfaces},  // a later one counts
    Default{"NCCL_SOCKET_IFNAME", apply::interfaces},
    Default{"FI_TCP_IFACE", apply::interfaces},
    Default{"HYDRA_IFACE", apply::interfaces},
    Default{"HYDRA_LAUNCHER", apply::launcher},
    Default{"HYDRA_LAUNCHER_EXEC", apply::launch_agent},
    Default{"HYDRA_LAUNCH_EXTRA_ARGS", agent_args},
    Default{"I_MPI_HYDRA_BOOTSTRAP", apply::launcher},
    Default{"I_MPI_HYDRA_BOOTSTRAP_EXEC", apply::launch_agent},
};
constexpr std::array kHostfiles{"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE",
                                "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"};

}  // namespace

Result<void> read_launcher_variables(Draft& draft) {
  if (!draft.around.variable) return {};
  const bool has_own = draft.around.variable("TUTTI_INTERFACES").has_value();
  for (const Default& row : kDefaults)
    if (const auto value = draft.around.variable(row.variable);
        value && !value->empty() && !(has_own && row.apply == apply::interfaces))
      TUTTI_DO(row.apply(draft, Given{row.variable, {*value}}));
  for (const Parameter& parameter : kParameters) {
    for (const char* prefix : {"OMPI_MCA_", "PRTE_MCA_"}) {
      const std::string name = std::string(prefix) + parameter.name;
      const auto value = draft.around.variable(name);
      const bool is_known = has_own && (parameter.apply == apply::interfaces ||
                                        parameter.apply == apply::other_interfaces);
      const bool wanted =
          value && !value->empty() && !is_known && parameter.apply != apply::hostfile;
      if (wanted && (!parameter.is_switch || is_on(*value)))
        TUTTI_DO(parameter.apply(draft, Given{name, {*value}}));
    }
  }
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
    if (parameter.is_switch && !is_on(value)) return {};
    return parameter.apply(draft, Given{given.spelling + " " + name, {value}});
  }
  draft.ignored_mca.push_back(name);
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
